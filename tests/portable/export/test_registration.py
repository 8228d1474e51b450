"""The hook that registers with tf2onnx when it is imported, on packages that stand in for it."""

import importlib
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

import pytest

import tf_rnn_ops  # noqa: F401
from tf_rnn_ops._formats import tf2onnx_hook as hook
from tf_rnn_ops._python import import_hook


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes a package that the hook takes for tf2onnx: (a function of its source, the calls of register())."""
    calls = []
    registration = types.ModuleType("registration")
    registration.register = lambda: calls.append(sys.modules["fake_tf2onnx.tfonnx"].VALUE)
    monkeypatch.setitem(sys.modules, "tf_rnn_ops._formats.onnx.registration", registration)
    monkeypatch.setattr(hook, "_MODULE", "fake_tf2onnx.tfonnx")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(source):
        (tmp_path / "fake_tf2onnx").mkdir()
        (tmp_path / "fake_tf2onnx" / "__init__.py").touch()
        (tmp_path / "fake_tf2onnx" / "tfonnx.py").write_text(source)
        importlib.invalidate_caches()

    yield make, calls, registration
    for name in [name for name in sys.modules if name.startswith("fake_tf2onnx")]:
        del sys.modules[name]


def test_importing_the_package_installs_the_hook():
    finders = [
        finder
        for finder in sys.meta_path
        if isinstance(finder, import_hook._Finder) and finder.module == hook._MODULE
    ]
    assert len(finders) == 1 or "tf2onnx.tfonnx" in sys.modules
    before = list(sys.meta_path)
    hook.install()
    assert sys.meta_path == before


def test_it_registers_once_the_module_has_run(package):
    make, calls, _ = package
    make("VALUE = 3")
    hook.install()
    assert not calls
    module = importlib.import_module("fake_tf2onnx.tfonnx")
    assert calls == [3] and module.VALUE == 3
    assert importlib.reload(module).VALUE == 3 and calls == [3, 3]


def test_it_registers_at_once_if_the_module_is_there(package):
    make, calls, _ = package
    make("VALUE = 4")
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, import_hook._Finder)]
    importlib.import_module("fake_tf2onnx.tfonnx")
    hook.install()
    assert calls == [4]


def test_it_registers_after_an_import_that_is_running(package):
    make, calls, _ = package
    make(
        "from tf_rnn_ops._formats import tf2onnx_hook\n"
        "tf2onnx_hook.install()\ntf2onnx_hook.install()\nVALUE = 6"
    )
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, import_hook._Finder)]
    module = importlib.import_module("fake_tf2onnx.tfonnx")
    assert calls == [6] and type(module.__spec__) is importlib.machinery.ModuleSpec


def test_an_import_that_fails_registers_nothing(package):
    make, calls, _ = package
    make("from tf_rnn_ops._formats import tf2onnx_hook\ntf2onnx_hook.install()\nraise OSError")
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, import_hook._Finder)]
    with pytest.raises(OSError):
        importlib.import_module("fake_tf2onnx.tfonnx")
    assert not calls
    file = pathlib.Path(importlib.util.find_spec("fake_tf2onnx").origin).with_name("tfonnx.py")
    file.write_text("VALUE = 7")
    importlib.import_module("fake_tf2onnx.tfonnx")
    assert calls == [7]


def test_a_failure_is_a_warning(package):
    make, _, registration = package
    make("VALUE = 5")

    def register():
        raise AttributeError("graphs_from_tf")

    registration.register = register
    hook.install()
    with pytest.warns(UserWarning, match="cannot register with this tf2onnx.*graphs_from_tf"):
        assert importlib.import_module("fake_tf2onnx.tfonnx").VALUE == 5


def test_errors_of_the_package_are_its_own(package):
    make, calls, _ = package
    hook.install()
    with pytest.raises(ModuleNotFoundError, match="fake_tf2onnx"):
        importlib.import_module("fake_tf2onnx.tfonnx")
    make("raise RuntimeError('broken')")
    with pytest.raises(RuntimeError, match="broken"):
        importlib.import_module("fake_tf2onnx.tfonnx")
    assert not calls
