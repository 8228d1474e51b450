"""The rooms of docs/design.md: which folder of the package imports which, and which headers a pass includes.

Bazel rejects all other includes, which the `deps` of their target do not lead to.
"""

import ast
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "tf_rnn_ops"
# {room: the rooms and other packages that it may import}. Other modules may import everything, and no room imports
# them.
MAY_IMPORT = {
    "_python": "",
    "_step": "numpy",
    # Their libraries are in tf_rnn_ops itself. Only info() imports Keras.
    "native": "_python tf_rnn_ops keras numpy tensorflow",
    "params": "_python numpy",
    "params/keras": "params numpy",
    "params/onnx": "_python params numpy onnx onnx_ir onnxscript",
    "_comparison": "_python params/keras keras numpy tensorflow",
    "raw_ops": "_python native keras numpy tensorflow",
    "plain": "_python native params raw_ops numpy tensorflow",
    "autodiff": "_python native params plain raw_ops numpy tensorflow",
    "contrib": "_python native params raw_ops google numpy tensorflow",
    "stepper": "_python _step native numpy",
    "portable": "_comparison _python autodiff native params plain raw_ops google numpy tensorflow",
    "_formats": "_python native params plain portable raw_ops stepper numpy tensorflow ai_edge_litert onnx onnxruntime"
    " openvino openvino_telemetry tf2onnx",
    "keras/_internals": "_python params/keras keras",
    "keras/dispatch": "keras/_internals native plain raw_ops keras numpy tensorflow",
    "keras/layers": "_python keras/_internals keras/dispatch native params raw_ops keras numpy tensorflow"
    " typing_extensions",
    "keras/_layer_paths": "keras/_internals keras/dispatch keras/layers native keras",
    "keras/_patched": "_python keras/_internals keras/dispatch keras/layers keras",
    "keras/_convert": "_python keras/_internals keras/_layer_paths keras/_patched keras/layers"
    " keras/dispatch params params/onnx keras numpy tensorflow",
    "keras/_report": "_comparison _python keras/_convert keras/_internals keras/_layer_paths keras/layers keras/dispatch"
    " native keras numpy tensorflow",
    "keras/_export": "_comparison _formats _python _step stepper keras/_convert keras/_internals keras/_layer_paths"
    " keras/_report keras/layers keras/dispatch keras numpy tensorflow",
}
# Modules that name functions of rooms above them.
DOORS = ("tf_rnn_ops.params.__init__", "tf_rnn_ops.portable.__init__")
# {folder of cc/cpu/pass: the others whose headers it may include}.
MAY_INCLUDE = {
    "memory": {"memory"},
    "weights": {"weights", "memory"},
    "forward": {"forward", "weights", "memory"},
    "backward": {"backward", "weights", "memory"},
}


def room_of(module):
    """The room of a module such as tf_rnn_ops.keras.dispatch.choose; its first name if it has none."""
    top, *parts = module.removesuffix(".__init__").split(".")
    if top != "tf_rnn_ops":
        return top
    names = ["/".join(parts[:k]) for k in range(len(parts), 0, -1)]
    return next((name for name in names if name in MAY_IMPORT), top)


def imported(path):
    """The modules and names that the import statements of a file name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports(room):
    allowed = {*MAY_IMPORT[room].split(), room, "__future__", *sys.stdlib_module_names}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if room_of(module) == room and module not in DOORS:
            assert {room_of(name) for name in imported(path)} <= allowed, path


@pytest.mark.parametrize("folder", MAY_INCLUDE)
def test_includes_of_a_pass(folder):
    for path in sorted((ROOT / "cc/cpu/pass" / folder).iterdir()):
        found = re.findall(r'#include "cc/cpu/pass/(\w+)/', path.read_text())
        assert set(found) <= MAY_INCLUDE[folder], path
