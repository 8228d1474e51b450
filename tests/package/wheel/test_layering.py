"""The rooms of docs/design.md: which folder of the package imports which, and which headers a pass includes.

Bazel rejects all other includes, which the `deps` of their target do not lead to.
"""

import ast
import fnmatch
import graphlib
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "tf_rnn_ops"
# {room: the rooms and other packages that it may import}, from the lowest floor to the highest one.
MAY_IMPORT = {
    "_python": "",
    "_step": "numpy",
    # Only info() imports Keras.
    "native": "_python libraries keras numpy tensorflow",
    "params": "_python numpy",
    "params/keras": "params numpy",
    "params/onnx": "_python params numpy onnx onnx_ir onnxscript",
    "_comparison": "_python params/keras keras numpy tensorflow",
    "raw_ops": "_python native keras numpy tensorflow",
    "contrib": "_python native params raw_ops google numpy tensorflow",
    "stepper": "_python _step native numpy",
    "plain": "_python native params raw_ops numpy tensorflow",
    "autodiff": "_python native params plain raw_ops numpy tensorflow",
    "portable": "_comparison _python autodiff native params plain raw_ops google numpy openvino openvino_telemetry"
    " tensorflow",
    "_formats": "_python params plain portable raw_ops stepper numpy tensorflow ai_edge_litert onnx onnxruntime openvino"
    " tf2onnx",
    "keras/_internals": "_python params/keras keras",
    "keras/dispatch": "keras/_internals native params plain raw_ops keras numpy tensorflow",
    "keras/layers": "_python keras/_internals keras/dispatch native params raw_ops keras numpy tensorflow"
    " typing_extensions",
    "keras/_layer_paths": "keras/_internals keras/dispatch keras/layers native keras",
    "keras/_patched": "_python keras/_internals keras/dispatch keras/layers keras",
    "keras/_convert": "_python keras/_internals keras/_layer_paths keras/_patched keras/layers"
    " keras/dispatch params params/onnx keras numpy tensorflow",
    "keras/_report": "_comparison _python keras/_convert keras/_internals keras/_layer_paths keras/layers keras/dispatch"
    " native keras numpy tensorflow",
    "keras/_export/layer_names": "raw_ops keras tensorflow",
    "keras/_export/time_axes": "_python keras/_convert keras/layers keras tensorflow",
    "keras/_export/outputs": "_comparison _formats keras numpy tensorflow",
    "keras/_export/signatures": "_comparison keras/_export/time_axes keras/_internals keras numpy tensorflow",
    "keras/_export/streaming": "_python keras/_convert keras/_export/outputs keras/_export/signatures"
    " keras/_export/time_axes keras/_internals keras/layers keras numpy tensorflow",
    "keras/_export/check": "_comparison _python keras/_convert keras/_export/outputs keras/_export/signatures"
    " keras/_export/streaming keras/_export/time_axes keras/_internals keras/_report keras/dispatch keras/layers"
    " keras numpy tensorflow",
    "keras/_export/stepper": "_python _step stepper keras/_convert keras/_export/outputs keras/_export/signatures"
    " keras/_export/streaming keras/_export/time_axes keras/_internals keras/_layer_paths keras/dispatch keras/layers"
    " raw_ops keras numpy tensorflow",
    "keras/_export/writers": "_formats _python keras/_convert keras/_export/check keras/_export/layer_names"
    " keras/_export/outputs keras/_export/stepper keras/_export/streaming keras/_layer_paths keras/_report keras"
    " tensorflow",
    "keras/_export/export": "_formats _python keras/_export/check keras/_export/outputs keras/_export/signatures"
    " keras/_export/writers keras/_report keras/dispatch keras",
}
# Modules above all rooms, which may import everything.
TOP = ("__init__", "__main__", "_commands/*", "keras/__init__", "keras/_export/__init__")
# It names functions of rooms above its own.
FACADE = "params/__init__"
# {folder of cc/cpu/pass: the others whose headers it may include}.
MAY_INCLUDE = {
    "memory": {"memory"},
    "weights": {"weights", "memory"},
    "forward": {"forward", "weights", "memory"},
    "backward": {"backward", "weights", "memory"},
}


def room_of(module):
    """The room of a module such as tf_rnn_ops.keras.dispatch.choose; of another package its first name."""
    top, *parts = module.split(".")
    if top != "tf_rnn_ops":
        return top
    if parts and parts[0].startswith("_tf_rnn_ops"):
        return "libraries"
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


def modules():
    """{name of a module of the package: its file}."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def is_any_of(path, names):
    relative = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return any(fnmatch.fnmatchcase(relative, name) for name in names)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports(room):
    allowed = {*MAY_IMPORT[room].split(), room, "__future__", *sys.stdlib_module_names}
    found = [path for name, path in modules().items() if room_of(name) == room]
    assert found
    for path in found:
        if path != PACKAGE / f"{FACADE}.py":
            assert {room_of(name) for name in imported(path)} <= allowed, path


def test_each_module_has_a_room():
    top = [path for name, path in modules().items() if room_of(name) == "tf_rnn_ops"]
    assert all(is_any_of(path, TOP) for path in top), top


def test_no_room_imports_one_above_it():
    rooms = list(MAY_IMPORT)
    for k, room in enumerate(rooms):
        assert not set(MAY_IMPORT[room].split()) & set(rooms[k:]), room


def test_no_circle_of_files():
    """Imports inside of functions count too."""
    files, graph = modules(), {}
    for module, path in files.items():
        graph[module] = found = set()
        for name in imported(path):
            while name and name not in files:
                name = name.rpartition(".")[0]
            # A library lies in tf_rnn_ops itself.
            if name not in ("", "tf_rnn_ops", module):
                found.add(name)
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("folder", MAY_INCLUDE)
def test_includes_of_a_pass(folder):
    for path in sorted((ROOT / "cc/cpu/pass" / folder).iterdir()):
        found = re.findall(r'#include "cc/cpu/pass/(\w+)/', path.read_text())
        assert set(found) <= MAY_INCLUDE[folder], path
