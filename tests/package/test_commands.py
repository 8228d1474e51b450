"""`python -m tf_rnn_ops`, the arguments of its commands compare and info, and the help of every command."""

import argparse
import ast
import importlib
import inspect
import pathlib
import pkgutil
import re

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
import tf_rnn_ops.keras
from tf_rnn_ops import __main__ as commands
from tf_rnn_ops import _commands, info
from tf_rnn_ops._commands import compare
from tf_rnn_ops._commands import info as info_command
from tf_rnn_ops.native import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The modules of the package and of the benchmarks that parse arguments.
PARSING = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("tf_rnn_ops", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if "ArgumentParser(" in path.read_text()
)


@pytest.mark.parametrize("flag", ["--batch", "--time", "--repeats"])
@pytest.mark.parametrize("value", ["0", "-3"])
def test_sizes_below_one_are_refused_by_name(flag, value, capsys):
    with pytest.raises(SystemExit, match="2"):
        compare.main(["nowhere.keras", flag, value])
    assert f"{flag} must be at least 1, but it is {value}." in capsys.readouterr().err


def test_the_help_of_compare_says_what_the_batch_is(capsys):
    with pytest.raises(SystemExit, match="0"):
        compare.main(["--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "random floats" in out and "zeros for a sparse loss" in out


def test_info_takes_help_and_nothing_else(capsys):
    with pytest.raises(SystemExit, match="0"):
        info_command.main(["--help"])
    out = capsys.readouterr().out
    assert out.startswith("usage: python -m tf_rnn_ops info") and "Processor" not in out
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


class _ParserFound(Exception):
    """Ends main() of a command with its parser."""


def _parser(name, monkeypatch):
    def found(parser, *arguments):
        raise _ParserFound(parser)

    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", found)
    with pytest.raises(_ParserFound) as stopped:
        importlib.import_module(name).main()
    return stopped.value.args[0]


@pytest.mark.parametrize("name", PARSING)
def test_help_describes_every_argument_and_shows_an_example(name, monkeypatch):
    parser = _parser(name, monkeypatch)
    assert parser.description.count("\n") == 0 and parser.description.endswith(".")
    command = name.removesuffix(".__main__").replace("._commands.", " ")
    assert f"python -m {command}" in parser.epilog.partition("Example: ")[2]
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or "-h" in action.option_strings:
            continue
        assert action.help, f"{action.dest} has no help"
        if action.default not in (None, False):
            assert "(default: " in action.help, f"{action.dest} does not state its default"


def _without_help(path):
    """The arguments in a script whose help is missing, as code."""
    for call in ast.walk(ast.parse(path.read_text())):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", None) == "add_argument":
            if "help" not in {keyword.arg for keyword in call.keywords}:
                yield f"{path.name}: {ast.unparse(call)}"


def test_scripts_describe_every_argument(tmp_path):
    folders = ("examples", "tools", "tests")
    scripts = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert len(scripts) > 130
    assert [line for path in scripts for line in _without_help(path)] == []
    (tmp_path / "a.py").write_text("parser.add_argument('--x', help='x')\nparser.add_argument('y')")
    assert [*_without_help(tmp_path / "a.py")] == ["a.py: parser.add_argument('y')"]


def test_every_command_parses_arguments_in_the_same_way():
    assert {"tf_rnn_ops._commands.portable", "benchmarks.run", "benchmarks.worker"} <= {*PARSING}
    assert len(PARSING) >= 13


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
        (ZEN_4, "AMD EPYC (Zen 4)"),
        (ZEN_4.replace(": 17", ": 200"), "AMD EPYC (family 25, model 200)"),
        (ZEN_4.replace("AuthenticAMD", "Other"), "AMD EPYC (family 25, model 17)"),
        (NEOVERSE, "a machine (implementer 0x41, part 0xd0c)"),
        ("processor\t: 0\n", "a machine"),
        (None, "a machine"),
    ],
    ids=["known", "model", "vendor", "Arm", "nothing", "no file"],
)
def test_the_name_of_the_processor(text, words, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "a machine")
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert machine.name() == words
    assert machine.processor().startswith(f"{words}, ") and machine.processor().endswith("cores")


def test_no_processor_has_two_generations():
    for vendor, family, ranges, name in machine._GENERATIONS:
        for model in {end for both in ranges for end in both}:
            assert machine.generation(vendor, str(family), str(model)) == name


def test_the_page_of_performance_has_the_generations_that_info_prints():
    page = (ROOT / "docs/performance.md").read_text()
    rows = re.findall(
        r"^\| ([\w ]+) \| (EPYC|Xeon)\b[^|]* \| (\d+), ([^|]+) \|$", page, re.MULTILINE
    )
    assert len(rows) == len(re.findall(r"^\|.*\| (?:EPYC|Xeon)\b.*$", page, re.MULTILINE)) >= 4
    vendors = {"EPYC": "AuthenticAMD", "Xeon": "GenuineIntel"}
    for name, series, family, models in rows:
        for model in models.split(" or "):
            assert machine.generation(vendors[series], family, model) == name
    # The tables of speed have no other name.
    assert {*re.findall(r"^\| (?:AMD EPYC|Intel) ([\w ]*\w)", page, re.MULTILINE)} == {
        name for name, *_ in rows
    }


def test_the_benchmarks_name_the_processor_as_info_does(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    described = importlib.import_module("benchmarks.machine").describe()
    assert described["cpu"] == machine.name()


def test_info_advises_no_cudnn_to_a_tensorflow_without_cuda():
    facts = dict(info.collect())
    assert facts["NumPy"] == np.__version__ and "glibc" in facts["System"]
    if not tf.test.is_built_with_cuda():
        assert facts["cuDNN"] == "not needed: this TensorFlow was built without CUDA"


def test_a_name_is_a_module_or_a_function():
    """No module of the package has the name of a function that its users know."""
    assert tf_rnn_ops.info is info and "info" in {*dir(tf_rnn_ops)} & {*tf_rnn_ops.__all__}
    for package in (tf_rnn_ops, tf_rnn_ops.keras):
        modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
        for name in modules & {*package.__all__}:
            assert inspect.ismodule(getattr(package, name)), f"{package.__name__}.{name}"
    assert not hasattr(tf_rnn_ops, "compare")
