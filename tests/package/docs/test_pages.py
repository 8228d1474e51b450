"""Runs the code of pages, and checks links and the table of the API."""

import importlib
import inspect
import re

import h5py
import numpy as np
import pages
import pytest

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


@pytest.mark.parametrize("root", ["/", "/model_weights"])
def test_cudnn_layers(tmp_path, root):
    page = ROOT / "docs" / "migration-cudnn-layers.md"
    _write_old_file(tmp_path / "old.h5", root)
    expected = {name: answer for name, (_, answer) in CUDNN_LAYERS.items()}
    pages.run(
        pages.blocks(page),
        page,
        tmp_path,
        "x = np.sin(np.arange(1, 7) / 2).reshape(1, 2, 3).astype('float32')\n"
        f"want = {expected!r}\n"
        "np.testing.assert_allclose(lstm(x)[0], want['cu_dnnlstm_1'], atol=2e-6)\n"
        "np.testing.assert_allclose(stack(x)[0], want['cu_dnnlstm_1'], atol=2e-6)\n"
        "np.testing.assert_allclose(gru(x)[0], want['cu_dnngru_1'], atol=2e-6)\n",
    )


def test_block_lstm(tmp_path):
    page = ROOT / "docs" / "migration-block-lstm.md"
    assert len(pages.blocks(page)) == 4
    pages.run(pages.blocks(page), page, tmp_path)


def test_a_page_with_an_error_fails(tmp_path):
    page = tmp_path / "wrong.md"
    page.write_text("one\n\n```python\nx = 1\n```\n\ntwo\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError, match='"wrong.md", line 10'):
        pages.run(pages.blocks(page), page, tmp_path)


@pytest.mark.parametrize("page", pages.MIGRATION, ids=lambda page: page.name)
def test_every_migration_page_is_run_and_listed(page):
    if page.name == "migration.md":
        assert not pages.blocks(page)
        return
    assert page.name in pages.links(ROOT / "docs" / "migration.md")
    tests = [file.read_text() for file in (ROOT / "tests").rglob("test_*.py")]
    assert any(f'"{page.name}"' in text for text in tests)
    # And the page names the test that does it.
    named = re.search(r"run by\s+`(tests/\S+\.py)`", page.read_text()).group(1)
    assert f'"{page.name}"' in (ROOT / named).read_text()


def _missing(page):
    """The links of a page that lead to no file or to no heading."""
    for link in pages.links(page):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in pages.anchors(target)):
            yield link


@pytest.mark.parametrize("page", pages.ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    assert list(_missing(page)) == []


# Where the paths that pages name begin.
FOLDERS = (
    "",
    "cc",
    "cc/core",
    "cc/cpu",
    "cc/gpu",
    "cc/ffi",
    "cc/tf",
    "tf_rnn_ops",
    "tf_rnn_ops/keras",
)


def _paths_without_a_file(text, page):
    """The names of files and folders in a text that are not in the repository."""
    roots = [ROOT / folder for folder in FOLDERS] + [page.parent]
    for name in re.findall(r"`([a-z][\w-]*/[\w./-]*\w)`", text):
        first = name.split("/")[0]
        if not any((root / first).is_dir() for root in roots) or first == "build":
            continue  # no path: a name in a checkpoint, a file that a build makes
        # NAME is any name.
        any_name = name.replace("NAME", "*")
        if not any([*root.glob(any_name), *root.glob(f"{any_name}.*")] for root in roots):
            yield name


@pytest.mark.parametrize(
    "page",
    [page for page in pages.ALL if page.parent.name != "history"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_paths(page):
    assert list(_paths_without_a_file(page.read_text(), page)) == []


def test_a_wrong_path_is_found():
    text = "`core/machine/team.h`, `tests/ops/no_such_test.py`, `cc/core/network/op_spec`, `rnn/cell_0`"
    assert list(_paths_without_a_file(text, ROOT / "README.md")) == ["tests/ops/no_such_test.py"]


def test_a_wrong_link_is_found(tmp_path):
    (tmp_path / "a.md").write_text("# A `B`, c\n")
    page = tmp_path / "page.md"
    page.write_text("[1](a.md#a-b-c) [2](a.md#d) ![3](b.svg) [4](https://x.org) [5](#e)\n# E\n")
    assert list(_missing(page)) == ["a.md#d", "b.svg"]


def _api():
    """{module: the names in its section of the page}."""
    text = (ROOT / "docs" / "api.md").read_text()
    sections = re.split(r"^## `(tf_rnn_ops[.\w]*)`$", text, flags=re.MULTILINE)[1:]
    return {
        module: re.findall(r"`([A-Za-z_]\w*)`", re.sub(r"`hard_sigmoid`|`tf\S*`", "", what))
        for module, what in zip(sections[::2], sections[1::2], strict=True)
    }


def test_the_api_page_names_what_exists():
    assert len(_api()) >= 6
    for module, names in _api().items():
        for name in names:
            assert hasattr(importlib.import_module(module), name), f"{module}.{name}"


@pytest.mark.parametrize(
    "module",
    [
        "tf_rnn_ops",
        *(f"tf_rnn_ops.{m}" for m in ("export", "keras", "params", "plain", "portable")),
    ],
)
def test_the_api_page_lacks_no_function_and_no_class(module):
    public = importlib.import_module(module)
    names = {name: getattr(public, name) for name in public.__all__}
    wanted = {
        name for name, thing in names.items() if inspect.isfunction(thing) or inspect.isclass(thing)
    }
    assert wanted and wanted - {*_api()[module]} == set()


def test_the_index_names_every_page_once():
    docs = ROOT / "docs"
    named = [link for link in pages.links(docs / "README.md") if not link.startswith("../")]
    subjects = {page.name for page in docs.glob("*.md")} - {"README.md"}
    subjects -= {page.name for page in pages.MIGRATION} - {"migration.md"}
    assert sorted(named) == sorted(subjects | {"history/README.md"})


def test_the_citation_has_the_version():
    version = re.search(
        r'^VERSION = "(.*)"', (ROOT / "tf_rnn_ops/native/versions.py").read_text(), re.M
    )
    assert f"\nversion: {version[1]}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_page_of_examples_names_every_example():
    examples = ROOT / "examples"
    folders = {f"{page.parent.name}/README.md" for page in examples.glob("*/README.md")}
    assert {*pages.links(examples / "README.md")} == folders
