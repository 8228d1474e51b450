"""The code of the pages on migration runs, links and paths exist, and the API page is complete."""

import importlib
import inspect
import re

import h5py
import numpy as np
import pytest

from support import pages

ROOT = pages.ROOT
# The outputs of a CuDNNLSTM and a CuDNNGRU of tf_keras 2.21 with two units, three inputs and weights
# sin(0), sin(1), ... for the input sin(0.5), sin(1), ... of shape [1, 2, 3], on the kernels for
# TensorFlow's op. (the number of gates, the answer [time, unit])
CUDNN_LAYERS = {
    "cu_dnnlstm_1": (4, [[-0.3997784, 0.0208300], [-0.3310844, 0.0876456]]),
    "cu_dnngru_1": (3, [[-0.3817428, -0.6678349], [0.0365666, -0.8012236]]),
}


def _old_weights(gates):
    shapes = {"kernel": (3, 2 * gates), "recurrent_kernel": (2, 2 * gates), "bias": (4 * gates,)}
    first = 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        yield name, np.sin(np.arange(first, first + size)).reshape(shape).astype(np.float32)
        first += size


def _write_old_file(path, root):
    """Writes a file of Keras 2: a whole model, or only weights without the group around them."""
    with h5py.File(path, "w") as file:
        for layer, (gates, _) in CUDNN_LAYERS.items():
            group = file.require_group(root).create_group(layer)
            names = []
            for name, array in _old_weights(gates):
                names.append(f"{layer}/{name}:0".encode())
                group[names[-1]] = array
            group.attrs["weight_names"] = names


# The layers of TensorFlow 1 compute what the model did, and the layers of Keras 2 what they did.
CONTRIB_EPILOGUE = """
import numpy as np

model = contrib.CudnnLSTM(2, 64, 20, "linear_input", "bidirectional")
buffer = model.canonical_to_params(weights, biases)
want = model(x, state, state, buffer, is_training=False)[0]
for found in (outputs, keras_layer(x)):
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-6)
assert gradient[0].shape == params.shape
"""
TF1_EPILOGUE = """
x = np.sin(np.arange(1, 7) / 2).reshape(1, 2, 3).astype("float32")
for layer, name in ((lstm, "cu_dnnlstm_1"), (stack, "cu_dnnlstm_1"), (gru, "cu_dnngru_1")):
    np.testing.assert_allclose(layer(x)[0], ANSWERS[name], atol=2e-6)
"""


@pytest.mark.parametrize("root", ["/", "/model_weights"])
def test_the_page_on_tensorflow_1(tmp_path, root):
    _write_old_file(tmp_path / "old.h5", root)
    answers = {name: answer for name, (_, answer) in CUDNN_LAYERS.items()}
    page = ROOT / "docs" / "migration-tf1.md"
    pages.run(page, tmp_path, f"ANSWERS = {answers!r}\n{TF1_EPILOGUE}", languages=["python"])


def test_the_page_on_contrib(tmp_path):
    pages.run(ROOT / "docs" / "contrib.md", tmp_path, CONTRIB_EPILOGUE)


@pytest.mark.parametrize("page", pages.ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    missing = []
    for link in pages.links(page):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in pages.anchors(target)):
            missing.append(link)
    assert missing == []


def test_references_of_the_code():
    """Pages and headings that comments name exist."""
    missing, headings = [], 0
    for path in pages.SOURCES:
        for page, heading in pages.references(path.read_text(errors="ignore")):
            target = ROOT / page
            if not target.exists() or (heading and heading not in pages.headings(target)):
                missing.append(f'{path.relative_to(ROOT)}: {page}, "{heading}"')
            headings += bool(heading)
    assert missing == []
    assert headings


# Where the paths that pages name begin.
FOLDERS = ("", "cc", "cc/core", "cc/cpu", "cc/gpu", "cc/tf", "cc/xla", "tf_rnn_ops")
FOLDERS += ("tf_rnn_ops/keras",)


@pytest.mark.parametrize("page", pages.ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths(page):
    """The names of files and folders exist. NAME is any name."""
    roots = [ROOT / folder for folder in FOLDERS] + [page.parent]
    missing = []
    for name in re.findall(r"`([a-z][\w-]*/[\w./-]*\w)`", page.read_text()):
        first = name.split("/")[0]
        if not any((root / first).is_dir() for root in roots) or first == "build":
            continue  # no path: a name in a checkpoint, a file that a build makes
        pattern = name.replace("NAME", "*")
        if not any([*root.glob(pattern), *root.glob(f"{pattern}.*")] for root in roots):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize(
    "module",
    [
        "tf_rnn_ops",
        *(f"tf_rnn_ops.{m}" for m in ("keras", "params", "plain", "portable", "stepper")),
    ],
)
def test_the_api_page_names_what_exists(module):
    """All functions and classes of a module, and nothing else."""
    page = (ROOT / "docs" / "api.md").read_text()
    section = re.search(rf"^## `{re.escape(module)}`$(.*?)(?=^## |\Z)", page, re.M | re.S)[1]
    named = set(re.findall(r"`([A-Za-z_]\w*)`", re.sub(r"`hard_sigmoid`|`tf\S*`", "", section)))
    public = importlib.import_module(module)
    assert [name for name in named if not hasattr(public, name)] == []
    things = {name: getattr(public, name) for name in public.__all__}
    wanted = {
        n for n, thing in things.items() if inspect.isfunction(thing) or inspect.isclass(thing)
    }
    assert wanted and wanted - named == set()
