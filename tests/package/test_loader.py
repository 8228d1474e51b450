"""The import of the package if a file or package is missing, and `python -m tf_rnn_ops info`."""

import importlib
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import subproc
from tf_rnn_ops.native.versions import TENSORFLOW

PACKAGE = pathlib.Path(tf_rnn_ops.__file__).resolve().parent
MINOR = ".".join(tf.__version__.split(".")[:2])
LIBRARY = f"_tf_rnn_ops.tf{MINOR}.so"
# The kernels that it is linked to.
BASELINE = "_tf_rnn_ops_baseline.so"
# The versions of TensorFlow with libraries in this installation, as text: '2.20 or 2.21'.
ANY_OF = " or ".join(
    ", ".join(
        sorted(path.name.split(".tf")[1][:-3] for path in PACKAGE.glob("_tf_rnn_ops.tf*.so"))
    ).rsplit(", ", 1)
)


def _run(*arguments, path=None, imported=True, **environment):
    """Runs Python, with `path` in front of the module search path.

    imported: Whether TensorFlow may be imported before; not where the test is about that.
    """
    env = {**os.environ, **environment}
    if path is not None:
        env["PYTHONPATH"] = os.pathsep.join([str(path), env.get("PYTHONPATH", "")])
    # The folder comes before PYTHONPATH.
    if imported:
        return subproc.run(arguments, path, env=env)
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=env, cwd=path, capture_output=True, text=True, check=False)


def _warning(result):
    """The one warning of an import that succeeds."""
    assert result.returncode == 0, result.stderr
    (line,) = [text for text in result.stderr.splitlines() if "UserWarning: " in text]
    return line.split("UserWarning: ")[1]


# Code that needs neither TensorFlow nor the library.
WITHOUT_OPS = """
import tf_rnn_ops
import tf_rnn_ops
assert tf_rnn_ops.params.Layout("gru", 1, 3, 2).size == 63
try:
    tf_rnn_ops.raw_ops.LayerRNN(
        input=1, input_h=1, input_c=1, kernel=1, recurrent_kernel=1
    )
except RuntimeError as error:
    assert "The ops of tf_rnn_ops are not loaded." in str(error), error
else:
    raise AssertionError("the op ran")
for function in (tf_rnn_ops.enable_stock_ops, tf_rnn_ops.cpu_isa):
    try:
        function()
    except ImportError as error:
        pass
    else:
        raise AssertionError(f"{function.__name__} needs no library")
"""


@pytest.fixture
def fake_tensorflow(tmp_path):
    """Makes a module named tensorflow out of the given source."""

    def make(source):
        folder = tmp_path / "fake" / "tensorflow"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(source)
        return folder.parent

    return make


@pytest.fixture
def copied_package(tmp_path):
    """A copy of the package without its shared libraries."""
    target = tmp_path / "copy" / "tf_rnn_ops"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return target


@pytest.mark.parametrize(
    ("source", "named"),
    [(f"__version__ = {v!r}", v) for v in ("2.17.1", "2.99.0-rc1", "3.21.0", "2.2.1")],
)
def test_no_tensorflow_of_these_versions(source, named, fake_tensorflow):
    line = _warning(_run("-c", WITHOUT_OPS, path=fake_tensorflow(source), imported=False))
    assert f"TensorFlow {ANY_OF}, " in line and named in line and "pip install" in line


# Ways in which a Python has no TensorFlow, as code before the import.
NO_TENSORFLOW = {
    "not found": """
import sys
class Blocks:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "keras"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocks())
""",
    "None in sys.modules": "import sys; sys.modules['tensorflow'] = sys.modules['keras'] = None\n",
}
WITHOUT_TENSORFLOW = """
import importlib
import sys
import warnings

warnings.simplefilter("error")
import tf_rnn_ops
from tf_rnn_ops import stepper
import numpy as np

x, want = (np.load(path) for path in sys.argv[2:])
stream = stepper.load(sys.argv[1], batch_size=2)
got = np.concatenate([stream(x[:, t : t + 1]) for t in range(x.shape[1])], 1)
np.testing.assert_allclose(got, want, atol=2e-6)
assert tf_rnn_ops.params.Layout("gru", 1, 3, 2).size == 63
for name in 2 * ("contrib", "keras", "plain", "portable"):
    try:
        importlib.import_module(f"tf_rnn_ops.{name}")
    except ImportError as error:
        assert "tf_rnn_ops needs TensorFlow" in str(error) and "pip install" in str(error), error
    else:
        raise AssertionError(f"{name} needs no TensorFlow")
assert not [n for n in ("tensorflow", "keras") if sys.modules.get(n) is not None]
"""


@pytest.fixture(scope="module")
def step_file(tmp_path_factory):
    """The paths of a file for a stepper, of inputs and of what the model returns."""
    import keras

    import tf_rnn_ops.keras

    paths = [tmp_path_factory.mktemp("step") / name for name in ("model.rnn", "x.npy", "want.npy")]
    layer = keras.layers.LSTM(4, return_sequences=True)
    model = keras.Sequential([keras.Input((None, 3)), layer, keras.layers.Dense(2)])
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
    tf_rnn_ops.keras.stepper(model).save(paths[0])
    np.save(paths[1], x)
    np.save(paths[2], model(x))
    return paths


@pytest.mark.parametrize("case", NO_TENSORFLOW)
def test_steppers_run_without_tensorflow(case, step_file):
    """`import tf_rnn_ops` is silent then, and the modules that need TensorFlow raise an ImportError."""
    result = _run("-c", NO_TENSORFLOW[case] + WITHOUT_TENSORFLOW, *step_file, imported=False)
    assert (result.returncode, result.stderr) == (0, "")


INFO_WITHOUT_TENSORFLOW = """
from tf_rnn_ops import __main__ as commands
assert commands.main(["info"]) == commands.main(["info", sys.argv[1]]) == 0
assert commands.main(["info", sys.argv[1] + "x"]) == commands.main(["info", sys.argv[2]]) == 2
"""


def test_info_of_a_step_file(step_file):
    code = NO_TENSORFLOW["not found"] + INFO_WITHOUT_TENSORFLOW
    result = _run("-c", code, *step_file, imported=False)
    assert result.returncode == 0, result.stderr
    lines = [line.split("  ", 1) for line in result.stdout.splitlines()]
    facts = {title: text.strip() for title, text in lines}
    assert facts["Library of the stepper"].startswith(str(PACKAGE))
    assert f"{step_file[0].stat().st_size:,} bytes" in facts["File"]
    assert facts["Output output_0"] == "float32 [B, T, 2]"
    states = {text for title, text in facts.items() if title.startswith("State ")}
    assert states == {"float32 [B, 4]"}
    assert [text for title, text in facts.items() if title.startswith("Node ")] == [
        "rnn (LayerRNN, lstm, tanh)",
        "dense",
    ]
    missing, other = result.stderr.splitlines()
    assert "does not exist" in missing and "x.npy" in other


def test_ops_without_tensorflow():
    result = _run("-c", NO_TENSORFLOW["not found"] + WITHOUT_OPS, imported=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("removed", ["_tf_rnn_ops_step.so", "_tf_rnn_ops_baseline.so"])
def test_a_stepper_without_its_libraries(removed, copied_package, step_file):
    _copy(*(path.name for path in PACKAGE.glob("_tf_rnn_ops*.so") if path.name != removed))(
        copied_package
    )
    code = NO_TENSORFLOW["not found"] + "import tf_rnn_ops.stepper"
    result = _run("-c", code, path=copied_package.parent, imported=False)
    last = result.stderr.splitlines()[-1]
    assert last.startswith("ImportError: tf_rnn_ops.stepper cannot load its library: ")
    assert removed in last and "install the wheel for this machine again" in last


REGISTERED = """
import tensorflow as tf
from tensorflow.python.framework import op_def_registry, ops
assert op_def_registry.get("TfRnnOps>LayerRNN") is not None
assert callable(ops.gradient_registry.lookup("TfRnnOps>LayerRNN"))
"""
MODULES = [
    "autodiff.gradients",
    "autodiff.registration",
    "autodiff.second_gradients",
    "autodiff.stock",
    "autodiff.vectorized",
    "contrib",
    "keras",
    "native.diagnosis",
    "params",
    "plain",
    "portable",
    "raw_ops",
    "stepper",
]


@pytest.mark.parametrize("name", MODULES)
def test_each_module_may_be_imported_first(name):
    """The registration imports modules while others are being imported: none may be half imported."""
    code = f"import tf_rnn_ops.{name}\n{REGISTERED}"
    result = _run("-W", "error::UserWarning", "-c", code, imported=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import tensorflow\nimport tf_rnn_ops\n",
        "import tf_rnn_ops\n",
        # A package may look for TensorFlow before it imports it.
        "import tf_rnn_ops\nimport importlib.util\nimportlib.util.find_spec('tensorflow')\n",
    ],
)
def test_the_registration_needs_no_order(code):
    result = _run("-W", "error::UserWarning", "-c", code + REGISTERED, imported=False)
    assert result.returncode == 0, result.stderr


def test_importing_the_package_does_not_import_tensorflow():
    code = "import sys, tf_rnn_ops; print(*sys.modules)"
    result = _run("-c", code, imported=False)
    assert result.returncode == 0, result.stderr
    assert not {"tensorflow", "keras"} & set(result.stdout.split())


def _write_foreign(folder):
    """Writes an ELF file for another processor, complete as far as its header says."""
    header = bytearray(pathlib.Path(tf_rnn_ops.get_lib()).read_bytes())
    header[18:20] = (183).to_bytes(2, "little")  # AArch64
    (folder / LIBRARY).write_bytes(header)


def _nothing(folder):
    """Leaves a copy of the package as it is."""


def _copy(*names):
    """Copies libraries from the package; `A=B` copies B under the name A."""

    def copy(folder):
        for name in names:
            new, _, old = name.rpartition("=")
            shutil.copy(PACKAGE / old, folder / (new or old))

    return copy


def _write(data):
    """Writes the library; the data may be a function of the content of the real one."""

    def write(folder):
        (folder / LIBRARY).write_bytes(
            data(pathlib.Path(tf_rnn_ops.get_lib()).read_bytes()) if callable(data) else data
        )

    return write


CUT = "cut off or not a shared object"
ON_A_MAC = "import platform; platform.system = lambda: 'Darwin'; platform.machine = lambda: 'arm64'"


# {case: (what becomes of a copy without libraries, code before the import, what the warning names)}.
BROKEN = {
    "no library": (_nothing, "", [f"{LIBRARY} does not exist", "make develop"]),
    # As with the wheel for any machine: the wheel for this one would not help.
    "no library, another TensorFlow": (
        _nothing,
        "import tensorflow; tensorflow.__version__ = '2.17.1'",
        [f"{', '.join(TENSORFLOW[:-1])} or {TENSORFLOW[-1]}, ", "TensorFlow 2.17.1"],
    ),
    "another machine": (_nothing, ON_A_MAC, ["Darwin on arm64", "x86_64 or aarch64"]),
    "text": (_write(b"not a library"), "", [CUT]),
    "empty": (_write(b""), "", [CUT]),
    "cut off": (_write(lambda data: data[:-9999]), "", [CUT]),
    "another processor": (_write_foreign, "", ["is for aarch64", "x86_64"]),
    "a folder": (lambda folder: (folder / LIBRARY).mkdir(), "", ["Is a directory"]),
    "no baseline": (_copy(LIBRARY), "", [BASELINE, "No such file", "install the wheel again"]),
    # The symbols of the kernels name the version.
    "another baseline": (
        _copy(LIBRARY, f"{BASELINE}={LIBRARY}"),
        "",
        ["undefined symbol", "install the wheel for this TensorFlow"],
    ),
    "libraries of other TensorFlows": (
        _copy(f"_tf_rnn_ops.tf2.17.so={LIBRARY}", f"_tf_rnn_ops.tf2.9.so={LIBRARY}"),
        "",
        ["2.9 or 2.17", f"TensorFlow {tf.__version__}", "tensorflow-cpu~=2.17.0"],
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_library_is_missing_or_broken(case, copied_package):
    prepare, before, named = BROKEN[case]
    prepare(copied_package)
    line = _warning(_run("-c", before + WITHOUT_OPS, path=copied_package.parent))
    assert all(part in line for part in named), line


def test_variants_that_are_cut_off_cost_speed_alone(copied_package):
    _copy(LIBRARY, BASELINE)(copied_package)
    variants = [path for path in PACKAGE.glob("_tf_rnn_ops_avx*.so")]
    for path in variants:
        (copied_package / path.name).write_bytes(path.read_bytes()[:5000])
    # TensorFlow reads the level of its log when it is imported.
    result = _run(
        "-c",
        "import tf_rnn_ops; print(tf_rnn_ops.cpu_isa())",
        path=copied_package.parent,
        imported=False,
        TF_CPP_MIN_LOG_LEVEL="0",
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[-1] == "baseline"
    assert (tf_rnn_ops.cpu_isa() == "baseline") != ("it is cut off" in result.stderr)


KERAS_WITHOUT_OPS = """
import sys
import numpy as np
import keras
import tf_rnn_ops.keras

x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
mask = np.arange(5) < np.array([[5], [2]])
for name in ("LSTM", "GRU", "SimpleRNN"):
    stock = getattr(keras.layers, name)(4)
    ours = getattr(tf_rnn_ops.keras, name)(4)
    want = stock(x, mask=mask)
    ours.build(x.shape)
    ours.set_weights(stock.get_weights())
    np.testing.assert_array_equal(ours(x, mask=mask), want)
    (row,) = tf_rnn_ops.keras.explain(ours, print_fn=None)
    assert row.path == "keras" and row.reason.startswith("the ops are not loaded: "), row
    assert ours.supports_jit
assert tf_rnn_ops.keras.PeepholeLSTM(4)(x).shape == (2, 4)
with tf_rnn_ops.keras.accelerate():
    np.testing.assert_array_equal(stock(x, mask=mask), want)

# What was saved where the ops are.
model = keras.saving.load_model(sys.argv[1])
np.testing.assert_allclose(model.predict(x, verbose=0), np.load(sys.argv[2]), atol=1e-6)
model.compile("sgd", "mse")
model.fit(x, np.zeros((2, 4)), verbose=0)
assert type(tf_rnn_ops.keras.convert(model, to="keras").layers[0]) is keras.layers.LSTM

stack = tf_rnn_ops.keras.CudnnLSTM(4)
(row,) = tf_rnn_ops.keras.explain(stack, print_fn=None)
assert row.path == "none" and "not loaded" in row.reason
try:
    stack(x)
except RuntimeError as error:
    assert "The ops of tf_rnn_ops are not loaded." in str(error)
else:
    raise AssertionError("the stack ran")
"""


def test_keras_layers_without_the_library(copied_package, tmp_path):
    import keras

    import tf_rnn_ops.keras

    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
    model = keras.Sequential([keras.Input((None, 3)), tf_rnn_ops.keras.LSTM(4)])
    model.save(tmp_path / "model.keras")
    np.save(tmp_path / "want.npy", model.predict(x, verbose=0))
    arguments = [str(tmp_path / name) for name in ("model.keras", "want.npy")]
    _warning(_run("-c", KERAS_WITHOUT_OPS, *arguments, path=copied_package.parent))


AS_ON_MACOS = """
import os
import platform
import sys
import numpy as np

platform.system = lambda: "Darwin"
del os.sched_getaffinity
import keras
import tf_rnn_ops.keras
from tf_rnn_ops.keras import *

model = keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4)])
assert tf_rnn_ops.keras.export(model, sys.argv[1], print_fn=None).difference < 1e-5
found = tf_rnn_ops.keras.compare(model, np.ones((2, 5, 3), "float32"), repeats=1, print_fn=None)
assert found.difference < 1e-5
facts = dict(tf_rnn_ops.info())
for title in ("Processor", "Threads"):
    assert "not available" not in facts[title]
assert "Darwin" in facts["Library of the stepper"]
for call in (
    lambda: tf_rnn_ops.keras.stepper(model),
    lambda: tf_rnn_ops.stepper.load(sys.argv[1]),
):
    try:
        call()
    except ImportError as error:
        assert "stepper" in str(error) and "Darwin" in str(error), error
    else:
        raise AssertionError("the stepper needs no library")
"""


def test_the_wheel_of_any_machine(copied_package, tmp_path):
    result = _run("-c", AS_ON_MACOS, tmp_path / "model", path=copied_package.parent)
    assert "Darwin" in _warning(result)


def test_a_missing_stock_library(copied_package):
    _copy(LIBRARY, BASELINE)(copied_package)
    script = "import tf_rnn_ops; tf_rnn_ops.enable_stock_ops()"
    result = _run("-c", script, path=copied_package.parent)
    assert result.stderr.splitlines()[-1].startswith("ImportError: ")
    assert f"_tf_rnn_ops_stock.tf{MINOR}.so does not exist" in result.stderr
    assert "install the wheel for this machine again" in result.stderr


def test_variants_are_optional(copied_package):
    _copy(LIBRARY, BASELINE)(copied_package)
    script = "import tf_rnn_ops; print(tf_rnn_ops.__file__, tf_rnn_ops.cpu_isa())"
    result = _run("-c", script, path=copied_package.parent)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [str(copied_package / "__init__.py"), "baseline"]


def test_a_library_loaded_by_a_relative_path_stays_in_its_folder(tmp_path):
    """A server may load it so and change its folder before the first call."""
    for isa in ("avx2", "avx512"):
        (tmp_path / f"_tf_rnn_ops_{isa}.so").write_bytes(b"not to be opened")
    script = f"""
import ctypes
import os
import tensorflow as tf
os.chdir({str(PACKAGE)!r})
tf.load_op_library("./{LIBRARY}")
os.chdir({str(tmp_path)!r})
isa = ctypes.CDLL({str(PACKAGE / LIBRARY)!r}).tf_rnn_ops_cpu_isa
isa.restype = ctypes.c_char_p
print(isa().decode())
"""
    result = _run("-c", script, path=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[-1] == tf_rnn_ops.cpu_isa()
    assert "tf_rnn_ops: using the" not in result.stderr


def test_gradients_may_be_loaded_again():
    """As notebooks do with autoreload."""
    importlib.reload(tf_rnn_ops.autodiff.gradients)
    kernel = tf.constant([[0.5]])
    with tf.GradientTape() as tape:
        tape.watch(kernel)
        h = tf_rnn_ops.raw_ops.LayerRNN(
            input=[[[2.0]]],
            input_h=[[0.0]],
            input_c=[],
            kernel=kernel,
            recurrent_kernel=[[1.0]],
            rnn_mode="rnn_tanh",
        ).output
    # d tanh(2 w) / d w
    np.testing.assert_allclose(tape.gradient(h, kernel), [[2 * (1 - np.tanh(1.0) ** 2)]], rtol=1e-5)


def test_info_names_everything():
    result = _run("-m", "tf_rnn_ops", "info", TF_RNN_OPS_CPU_ISA="baseline")
    assert result.returncode == 0, result.stderr
    facts = dict(line.split("  ", 1) for line in result.stdout.splitlines())
    facts = {title: text.strip() for title, text in facts.items()}
    assert facts["tf_rnn_ops"] == tf_rnn_ops.__version__
    assert facts["TensorFlow"].startswith(f"{MINOR}.")
    version = importlib.metadata.version("keras")
    assert facts["Keras"] == f"{version} on the backend tensorflow"
    assert facts["Library of ops"] == tf_rnn_ops.get_lib()
    assert facts["CPU instruction set"].startswith("baseline (")
    assert "within an op" in facts["Threads"]
    assert "CPU:0" in facts["Devices"]


def test_info_survives_a_broken_keras():
    result = _run("-m", "tf_rnn_ops", "info", KERAS_BACKEND="nothing", imported=False)
    assert result.returncode == 0, result.stderr
    (keras,) = [line for line in result.stdout.splitlines() if line.startswith("Keras ")]
    assert "not available: " in keras and "nothing" in keras


def test_info_survives_a_missing_library(copied_package):
    result = _run("-m", "tf_rnn_ops", "info", path=copied_package.parent)
    assert result.returncode == 0, result.stderr
    assert "does not exist" in result.stdout
    assert "TensorFlow  " in result.stdout


@pytest.mark.parametrize(
    "source",
    [
        "raise ModuleNotFoundError('No module named tensorflow')",
        "raise TypeError('Descriptors cannot be created directly.')",
        "__version__ = '2.21.0'",
        "",
    ],
)
def test_info_survives_a_missing_or_broken_tensorflow(source, fake_tensorflow):
    result = _run("-m", "tf_rnn_ops", "info", path=fake_tensorflow(source), imported=False)
    assert result.returncode == 0, result.stderr
    assert "not available: " in result.stdout and "Traceback" not in result.stderr


def test_info_prints_paths_in_any_alphabet(copied_package, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    other = copied_package.parent.rename(copied_package.parent.with_name("ä"))
    result = _run("-m", "tf_rnn_ops", "info", path=other)
    assert result.returncode == 0, result.stderr
    assert "\\xe4" in result.stdout


def test_a_library_for_xla_that_is_cut_off(copied_package):
    for library in PACKAGE.glob("_tf_rnn_ops*.so"):
        data = library.read_bytes()
        (copied_package / library.name).write_bytes(data[:5000] if "_xla" in library.name else data)
    if not [*copied_package.glob("*_xla*.so")]:
        pytest.skip("no library for XLA was built")
    line = _warning(_run("-c", "import tensorflow, tf_rnn_ops", path=copied_package.parent))
    assert "is cut off" in line and line.endswith("Without it XLA cannot compile the ops.")
    out = _run("-m", "tf_rnn_ops", "info", path=copied_package.parent).stdout
    assert any("Library for XLA" in line and "is cut off" in line for line in out.splitlines())


def test_graphs_are_rewritten_without_a_library(copied_package):
    """The names of the tensors of our ops come from a table, since the op registry does not have our ops."""
    graph = tf.Graph()
    with graph.as_default():
        tf_rnn_ops.raw_ops.LayerRNN(
            input=tf.compat.v1.placeholder(tf.float32, [5, 2, 3], name="x"),
            input_h=tf.zeros([2, 4]),
            input_c=tf.zeros([2, 4]),
            kernel=tf.ones([3, 16]),
            recurrent_kernel=tf.ones([4, 16]),
            name="layer",
        )
    folder = copied_package.parent
    source, target = folder / "source.pb", folder / "target.pb"
    # With the shapes, as a SavedModel records them: without the op TensorFlow cannot infer any.
    source.write_bytes(graph.as_graph_def(add_shapes=True).SerializeToString())
    result = _run("-m", "tf_rnn_ops", "portable", source, target, "--no-verify", path=folder)
    assert result.returncode == 0, result.stderr
    assert "changed layer: TfRnnOps>LayerRNN -> ordinary ops" in result.stdout
    rewritten = tf.compat.v1.GraphDef.FromString(target.read_bytes())
    nodes = [*rewritten.node, *(n for f in rewritten.library.function for n in f.node_def)]
    assert not any(node.op.startswith("TfRnnOps>") for node in nodes)


WHAT_IS_LOADED = """
import sys
import tensorflow
before = set(sys.modules)
import tf_rnn_ops
print(*(set(sys.modules) - before))
"""


def test_what_the_import_loads():
    """Nothing that takes long, such as Keras: it adds less than 0.15 s to the import of TensorFlow."""
    result = _run("-c", WHAT_IS_LOADED, imported=False)
    assert result.returncode == 0, result.stderr
    modules = set(result.stdout.split())
    own = {name.split(".")[1] for name in modules if name.startswith("tf_rnn_ops.")}
    assert not own & {"compare", "contrib", "info", "keras", "portable"}
    assert {"autodiff", "native", "raw_ops"} <= own
    tops = {name.split(".")[0] for name in modules}
    # TensorFlow names the modules of functions that it generates after a hash of the library.
    others = {name for name in tops if not re.fullmatch("[0-9a-f]{40}", name)}
    assert others - set(sys.stdlib_module_names) == {"tf_rnn_ops"}


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tf_rnn_ops.nothing
