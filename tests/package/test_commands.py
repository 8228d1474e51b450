"""`python -m tf_rnn_ops`, the arguments of its commands compare and info, and the names of processors."""

import importlib
import inspect
import pathlib
import pkgutil

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
import tf_rnn_ops.keras
from tf_rnn_ops import __main__ as commands
from tf_rnn_ops import _commands
from tf_rnn_ops._commands import compare
from tf_rnn_ops._commands import info as info_command
from tf_rnn_ops.native import machine


@pytest.mark.parametrize("flag", ["--batch-size", "--time", "--repeats"])
@pytest.mark.parametrize("value", ["0", "-3"])
def test_sizes_below_one_are_refused_by_name(flag, value, capsys):
    with pytest.raises(SystemExit, match="2"):
        compare.main(["nowhere.keras", flag, value])
    assert f"{flag} must be at least 1, but it is {value}." in capsys.readouterr().err


def test_info_takes_help_and_nothing_else(capsys):
    with pytest.raises(SystemExit, match="0"):
        info_command.main(["--help"])
    out = capsys.readouterr().out
    assert "usage: python -m tf_rnn_ops info" in out and "Processor" not in out
    with pytest.raises(SystemExit, match="2"):
        info_command.main(["--typo"])
    assert "unrecognized arguments: --typo" in capsys.readouterr().err


def test_the_list_of_commands(capsys):
    modules = pkgutil.iter_modules(_commands.__path__)
    found = {module.name for module in modules if not module.name.startswith("_")}
    assert commands.main([]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert {line.split()[3] for line in lines} == found
    assert all(line.startswith("  python -m tf_rnn_ops ") for line in lines)
    with pytest.raises(SystemExit, match="2"):
        commands.main(["typo"])
    assert "invalid choice: 'typo'" in capsys.readouterr().err


def test_a_command_gets_its_arguments(capsys):
    with pytest.raises(SystemExit, match="2"):
        commands.main(["compare", "nowhere.keras", "--time", "0"])
    assert "tf_rnn_ops compare: error: --time must be at least 1" in capsys.readouterr().err
    folder = pathlib.Path(tf_rnn_ops.__file__).parent
    runnable = [p for p in folder.rglob("*.py") if '__name__ == "__main__"' in p.read_text()]
    assert runnable == [folder / "__main__.py"]


INTEL = "model name\t: A\nflags\t\t: fpu avx avx2 fma avx512f avx512_bf16 amx_tile amx_bf16\n"
AMD = "model name\t: B\nflags\t\t: fpu avx avx2 fma\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (INTEL, "avx2, fma, avx512f, avx512_bf16, amx_tile, amx_bf16"),
        (AMD, "avx2, fma (missing: avx512f, avx512_bf16, amx_tile, amx_bf16)"),
        (
            AMD.replace("avx2 fma", ""),
            "none (missing: avx2, fma, avx512f, avx512_bf16, amx_tile, amx_bf16)",
        ),
        (ARM, "asimd"),
    ],
)
def test_cpu_features(text, words, tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    assert machine.features() == words


def test_cpu_features_of_an_unknown_processor(tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text("cpu: POWER9\n")
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    with pytest.raises(OSError, match="does not list"):
        machine.features()


ZEN_4 = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC

processor\t: 1
cpu family\t: 6
"""
NEOVERSE = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ZEN_4, "AMD EPYC (family 25, model 17)"),
        (NEOVERSE, "a machine (implementer 0x41, part 0xd0c)"),
        ("processor\t: 0\n", "a machine"),
        (None, "a machine"),
    ],
    ids=["x86", "Arm", "nothing", "no file"],
)
def test_the_name_of_the_processor(text, words, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "a machine")
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert machine.name() == words
    assert machine.processor().startswith(f"{words}, ") and machine.processor().endswith("cores")


def test_info_says_where_to_look_for_a_missing_gpu(monkeypatch):
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda: [])
    monkeypatch.setattr(tf.test, "is_built_with_cuda", lambda: True)
    facts = dict(tf_rnn_ops.info())
    assert facts["NumPy"] == np.__version__ and "glibc" in facts["System"]
    assert "https://www.tensorflow.org/install/pip" in facts["Devices"]


def test_a_name_is_a_module_or_a_function():
    """No module of the package has the name of a function that its users know."""
    for package in (tf_rnn_ops, tf_rnn_ops.keras):
        modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
        for name in modules & {*package.__all__}:
            assert inspect.ismodule(getattr(package, name)), f"{package.__name__}.{name}"
    assert not hasattr(tf_rnn_ops, "compare")


@pytest.mark.parametrize(
    "name", ["", "contrib", "keras", "keras.layers", "params", "plain", "portable", "raw_ops"]
)
def test_dir_shows_public_names_only(name):
    module = importlib.import_module(f"tf_rnn_ops.{name}".rstrip("."))
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, public) for public in module.__all__)
    assert [public for public in dir(module) if public[0] == "_" and public != "__version__"] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        module.nothing
