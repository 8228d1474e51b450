"""The allowed includes and imports (docs/design.md), read from the source lines."""

import ast
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]

TENSORFLOW = ("tensorflow/", "absl/", "tsl/", "xla/")
EIGEN = ("Eigen/", "unsupported/Eigen/")

# The headers that the rooms of the passes may include.
KERNEL_ROOMS = (
    "cc/cpu/simd/",
    "cc/cpu/product/",
    "cc/cpu/rows/",
    "cc/cpu/cell/",
    "cc/cpu/heuristics.h",
    "cc/cpu/kernel_args.h",
    "cc/core/",
)
BELOW_PASSES = (
    "cc/cpu/pass/slice.h",
    "cc/cpu/pass/memory/",
    "cc/cpu/pass/weights/",
    *KERNEL_ROOMS,
)

# {folder: prefixes of the headers that its files may include besides the C++ standard library}.
CC_RULES = {
    "compat": ("dlfcn.h", "pthread.h"),
    "core": (),
    "core/network": (
        "cc/core/network/",
        "cc/core/check.h",
        "cc/core/checked_math.h",
        "cc/core/status.h",
    ),
    "core/machine": (
        "cc/core/machine/",
        "cc/core/check.h",
        "cc/core/checked_math.h",
        "dirent.h",
        "linux/futex.h",
        "pthread.h",
        "sched.h",
        "sys/mman.h",
        "sys/syscall.h",
        "unistd.h",
    ),
    # The interface of the kernels, and kernels_isa.cc.
    "cpu": ("cc/cpu/", "cc/core/", "cpuid.h", "dlfcn.h", "link.h"),
    # The rooms of the kernels.
    "cpu/simd": (
        "cc/cpu/simd/",
        "cc/core/check.h",
        "cc/core/network/dtype.h",
        *EIGEN,
        "cpuid.h",
        "immintrin.h",
        "sys/auxv.h",
        "sys/syscall.h",
        "unistd.h",
    ),
    "cpu/product": ("cc/cpu/product/", "cc/cpu/simd/"),
    "cpu/rows": (
        "cc/cpu/rows/",
        "cc/cpu/product/",
        "cc/cpu/simd/",
        "cc/cpu/heuristics.h",
        "cc/cpu/kernel_args.h",
        "cc/core/network/arg.h",
        "cc/core/network/dtype.h",
        "cc/core/check.h",
        "cc/core/network/dropout.h",
        *EIGEN,
    ),
    "cpu/cell": (
        "cc/cpu/cell/",
        "cc/cpu/product/",
        "cc/cpu/simd/",
        "cc/cpu/kernel_args.h",
        "cc/core/check.h",
    ),
    "cpu/pass": ("cc/cpu/", "cc/core/", *EIGEN),
    "cpu/pass/memory": ("cc/cpu/pass/memory/", *KERNEL_ROOMS),
    "cpu/pass/weights": ("cc/cpu/pass/weights/", "cc/cpu/pass/memory/", *KERNEL_ROOMS),
    # A step and its weights are one room. Neither pass knows the other.
    "cpu/pass/forward": ("cc/cpu/pass/forward/", *BELOW_PASSES),
    "cpu/pass/backward": ("cc/cpu/pass/backward/", *BELOW_PASSES),
    "ffi": (
        "cc/ffi/",
        "cc/gpu/",
        "cc/core/",
        "cc/cpu/dispatch.h",
        "cc/cpu/kernel_args.h",
        "cc/cpu/kernel_table.h",
        "cc/cpu/packed_header.h",
        "cc/cpu/op_run.h",
        "cc/cpu/team_parallel_for.h",
        "xla/ffi/api/",
    ),
    # WHY no header of NVIDIA's: building needs none, see cc/gpu/cudnn_min.h.
    "gpu": ("cc/gpu/", "cc/core/", "dlfcn.h"),
    "tf": (
        "cc/tf/",
        "cc/ffi/gpu_handlers.h",
        "cc/ffi/handlers.h",
        "cc/gpu/",
        "cc/core/",
        "cc/cpu/dispatch.h",
        "cc/cpu/kernel_args.h",
        "cc/cpu/kernel_table.h",
        "cc/cpu/packed_header.h",
        "cc/cpu/op_run.h",
        "cc/cpu/team_parallel_for.h",
        *TENSORFLOW,
        *EIGEN,
        "dlfcn.h",
        "pthread.h",
    ),
}

# By room of tf_rnn_ops, a folder or a module: which rooms it may import besides itself, and which other
# packages.
ANY = None
PY_RULES = {
    "__init__": (ANY, {"numpy", "tensorflow"}),
    "__main__": (set(), set()),
    "_patches": (set(), set()),
    "native": ({"_patches"}, {"numpy", "tensorflow"}),
    "stock": ({"autodiff", "native"}, {"numpy", "tensorflow"}),
    "_difference": (set(), {"numpy"}),
    "_made_up": (set(), {"numpy"}),
    "_keras_batch": ({"_made_up", "params/keras"}, {"keras", "numpy", "tensorflow"}),
    "_one_line": (set(), set()),
    "_initializers": (set(), set()),
    "_op_table": (set(), set()),
    "_seeds": (set(), {"keras", "numpy", "tensorflow"}),
    "_whole": (set(), set()),
    "_types": (set(), {"numpy", "tensorflow"}),
    "raw_ops": ({"_types", "native"}, {"numpy", "tensorflow"}),
    "autodiff": ({"_op_table", "native", "params", "plain", "raw_ops"}, {"numpy", "tensorflow"}),
    "plain": ({"_op_table", "params"}, {"numpy", "tensorflow"}),
    "params": (set(), {"numpy"}),
    "params/__init__": ({"params", "params/keras", "params/onnx"}, set()),
    "params/keras": ({"params"}, {"numpy"}),
    # The last two evaluate nodes of a model.
    "params/onnx": ({"params"}, {"numpy", "onnx", "onnxruntime"}),
    "keras": (ANY, set()),
    "keras/_internals": ({"_patches", "params/keras"}, {"keras"}),
    "keras/path": (
        {"keras/_internals", "native", "plain", "raw_ops"},
        {"keras", "numpy", "tensorflow"},
    ),
    "keras/layers": (
        {
            "_initializers",
            "_patches",
            "_seeds",
            "keras/_internals",
            "keras/path",
            "native",
            "params",
            "params/keras",
            "raw_ops",
        },
        {"keras", "numpy", "tensorflow"},
    ),
    "keras/_convert/stacks": (
        {"keras/layers", "keras/path", "params", "params/keras"},
        {"keras", "numpy"},
    ),
    "keras/_convert": (
        {
            "_patches",
            "keras/_convert/stacks",
            "keras/_internals",
            "keras/layers",
            "keras/path",
            "params",
            "params/keras",
            "params/onnx",
        },
        {"keras", "numpy", "tensorflow"},
    ),
    "keras/_report": (
        {
            "_difference",
            "keras/_convert",
            "keras/_convert/stacks",
            "keras/layers",
            "keras/path",
            "native",
            "params/keras",
        },
        {"keras", "numpy", "tensorflow"},
    ),
    "keras/_export": (
        {
            *("_difference", "_keras_batch", "_made_up", "_one_line", "_whole"),
            "export",
            "keras/_convert",
            "keras/_internals",
            "keras/_report",
            "keras/layers",
            "keras/path",
            "params/keras",
        },
        {"keras", "numpy", "tensorflow"},
    ),
    "contrib": (
        {"_initializers", "_seeds", "_types", "native", "params", "raw_ops"},
        {"google", "numpy", "tensorflow"},
    ),
    "portable": (
        {
            *("__init__", "_difference", "_made_up", "_op_table", "_whole"),
            *("native", "params", "plain", "raw_ops"),
        },
        {"google", "numpy", "tensorflow"},
    ),
    "export": (
        {"_op_table", "_patches", "native", "params", "plain", "portable"},
        {"ai_edge_litert", "numpy", "onnx", "onnxruntime", "openvino", "tensorflow", "tf2onnx"},
    ),
    "_commands": (
        {"_keras_batch", "_one_line", "_whole", "export", "info", "keras", "portable"},
        {"google", "keras", "numpy", "tensorflow"},
    ),
    "info": ({"__init__", "native"}, {"keras", "numpy", "tensorflow"}),
}


def includes(path):
    """The targets of its #include lines."""
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), flags=re.MULTILINE)


def is_standard(header):
    return re.fullmatch(r"[a-z_0-9]+", header) is not None


def forbidden_includes(folder, headers):
    return [h for h in headers if not is_standard(h) and not h.startswith(CC_RULES[folder])]


def cc_files():
    return sorted(p for p in (ROOT / "cc").rglob("*") if p.suffix in {".h", ".cc", ".cu"})


def python_files():
    return sorted((ROOT / "tf_rnn_ops").rglob("*.py"))


def room(parts):
    """The room of the module at tf_rnn_ops/a/b/c, given as (a, b, c): the longest key that fits."""
    while parts and "/".join(parts) not in PY_RULES:
        parts = parts[:-1]
    return "/".join(parts) or "__init__"


def imports(path):
    """(rooms of tf_rnn_ops, other top-level packages) that its import statements name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = parts[:-1]
    own, other = set(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            # `from package import module` names the module in its list.
            names = [".".join([*base, alias.name]) for alias in node.names]
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            if top != "tf_rnn_ops":
                other.add(top)
            else:
                own.add(room(rest))
    return own, other


def forbidden_imports(module, own, other):
    may_own, may_other = PY_RULES[module]
    wrong = set() if may_own is ANY else own - may_own - {module}
    return wrong | (other - may_other - set(sys.stdlib_module_names) - {"__future__"})


def test_the_tree_is_read():
    assert {p.parent.parts[len(ROOT.parts) + 1] for p in cc_files()} >= {"core", "cpu", "gpu", "tf"}
    assert "loader" in {p.stem for p in python_files()}


@pytest.mark.parametrize("path", cc_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_includes(path):
    folder = path.relative_to(ROOT / "cc").parent
    while str(folder) not in CC_RULES:
        folder = folder.parent
    folder = str(folder)
    assert forbidden_includes(folder, includes(path)) == []


def includes_in_circles(includes_of):
    """The files of a circle of includes, and those above one. `includes_of`: {file: its includes}."""
    placed = set()
    waiting = {name: {h for h in own if h in includes_of} for name, own in includes_of.items()}
    while floor := {name for name, own in waiting.items() if own <= placed}:
        placed |= floor
        waiting = {name: own for name, own in waiting.items() if name not in floor}
    return sorted(waiting)


def test_no_header_includes_itself():
    assert includes_in_circles({str(p.relative_to(ROOT)): includes(p) for p in cc_files()}) == []
    assert includes_in_circles({"a": ["b", "vector"], "b": ["c"], "c": ["b"], "d": []}) == [
        "a",
        "b",
        "c",
    ]


def test_one_file_names_the_private_part_of_eigen():
    named = [str(p.relative_to(ROOT)) for p in cc_files() if "Eigen::internal" in p.read_text()]
    assert named == ["cc/cpu/simd/vec.h"]


def test_no_room_imports_one_above_it():
    """Floor by floor: what a room may import must be below it, so there is no circle."""
    placed = set()
    waiting = {room: own for room, (own, _) in PY_RULES.items() if own is not ANY}
    waiting["__init__"] = set()
    waiting["keras"] = {room for room in PY_RULES if room.startswith("keras/")}
    while waiting:
        floor = {room for room, own in waiting.items() if own <= placed}
        assert floor, f"these rooms import each other: {sorted(waiting)}"
        placed |= floor
        waiting = {room: own for room, own in waiting.items() if room not in floor}


@pytest.mark.parametrize("path", python_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports(path):
    parts = path.relative_to(ROOT / "tf_rnn_ops").with_suffix("").parts
    assert parts[0] in PY_RULES, f"{parts[0]} is new: say in PY_RULES what it may import"
    assert forbidden_imports(room(parts), *imports(path)) == set()


@pytest.mark.parametrize(
    ("folder", "header"),
    [
        ("core", "Eigen/Core"),
        ("cpu", "cc/gpu/dso.h"),
        ("cpu/simd", "cc/cpu/product/gemm.h"),
        ("cpu/product", "cc/cpu/rows/sequence.h"),
        ("cpu/rows", "cc/cpu/pass/memory/sizes.h"),
        ("cpu/cell", "cc/cpu/rows/sequence.h"),
        ("cpu/pass/weights", "cc/cpu/pass/forward/step_product.h"),
        ("cpu/pass/backward", "cc/cpu/pass/forward/pass.h"),
        ("cpu", "tensorflow/core/framework/op.h"),
        ("ffi", "tensorflow/core/framework/op.h"),
        ("ffi", "xla/hlo/builder/xla_builder.h"),
        ("gpu", "cc/cpu/dispatch.h"),
        ("gpu", "cudnn.h"),
        ("tf", "cc/cpu/product/gemm.h"),
    ],
)
def test_the_rules_refuse(folder, header):
    assert forbidden_includes(folder, ["vector", header]) == [header]


def test_relative_imports_are_resolved(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "tf_rnn_ops" / "params" / "layout.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import numpy as np\nfrom .. import raw_ops\nfrom . import gates\nimport keras\n"
    )
    own, other = imports(path)
    assert (own, other) == ({"raw_ops", "params"}, {"numpy", "keras"})
    assert forbidden_imports("params", own, other) == {"raw_ops", "keras"}
