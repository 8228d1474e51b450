"""Docstrings of what is public: examples that run, arguments, errors, and signatures without **kwargs."""

import doctest
import importlib
import inspect
import pathlib
import re

import pytest

import tf_rnn_ops

PACKAGE = pathlib.Path(tf_rnn_ops.__file__).parent
PUBLIC = ("", "raw_ops", "keras", "contrib", "contrib.layers", "params")


def module_of(name):
    return importlib.import_module(f"tf_rnn_ops.{name}".rstrip("."))


def with_examples():
    """The names of all modules that have examples."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text():
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__")


def things(name):
    """(name, function or class) of what a public module exports."""
    module = module_of(name)
    exported = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
    for one in exported:
        thing = getattr(module, one)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            if thing.__module__.startswith("tf_rnn_ops"):
                yield one, thing


ALL = {f"{name}.{one}".lstrip("."): thing for name in PUBLIC for one, thing in things(name)}


NEVER_RAISE = {
    tf_rnn_ops.keras.accelerate,
    tf_rnn_ops.keras.restore,
    tf_rnn_ops.keras.hard_sigmoid_keras2,
    tf_rnn_ops.info,
}


@pytest.mark.parametrize("name", list(with_examples()))
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", list(ALL))
def test_there_is_an_example(name):
    assert ">>> " in (ALL[name].__doc__ or "")


def has_signature_of_keras(name):
    """Whether tests/keras/test_layer_interface.py compares the signature with that of a class in Keras."""
    return name in {f"keras.{one}" for one in ("LSTM", "GRU", "SimpleRNN", "RNN")}


@pytest.mark.parametrize("name", [name for name in ALL if not has_signature_of_keras(name)])
def test_signatures_are_spelled_out(name):
    parameters = inspect.signature(ALL[name]).parameters.values()
    assert [one.name for one in parameters if one.kind is one.VAR_KEYWORD] == []


@pytest.mark.parametrize("name", [name for name, thing in ALL.items() if inspect.isfunction(thing)])
def test_functions_describe_arguments_results_and_errors(name):
    function = ALL[name]
    doc, signature = inspect.getdoc(function), inspect.signature(function)
    doc = re.sub(r"(?<=\w),\n +(?=\w+[,:])", ", ", doc)  # names in two lines
    code = function.__code__
    for argument in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        assert re.search(rf"^    (\w+, )*{argument}(, \w+)*: ", doc, re.MULTILINE), argument
    assert signature.return_annotation is not inspect.Signature.empty
    assert "Raises:" in doc or function in NEVER_RAISE
    assert "Returns:" in doc or signature.return_annotation in (None, "None")
