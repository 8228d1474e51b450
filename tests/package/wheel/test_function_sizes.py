"""How long the functions of the package may be, and how many parameters they may have."""

import ast
import pathlib

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "tf_rnn_ops"
MOST_LINES = 60  # of the body, without the docstring
MOST_PARAMETERS = 8  # without self and cls
# Signatures that others made: those of ops, of TensorFlow 1 and of Keras's export and layers.
GIVEN = {
    "export/openvino/sequences.py": {"_lstm"},
    "keras/_convert/from_onnx.py": {"from_onnx"},
    "keras/_export/export.py": {"export"},
    "autodiff/block_cells.py": {"_lstm_step"},
    "contrib/layers.py": {"_CudnnRNN.__init__"},
    "keras/layers/layer_norm.py": {"LayerNormLSTM.__init__"},
    "keras/layers/layer_norm_cell.py": {"LayerNormLSTMCell.__init__"},
    "keras/layers/projected.py": {"ProjectedLSTM.__init__", "PeepholeLSTM.__init__"},
    "keras/layers/projected_cell.py": {"ProjectedLSTMCell.__init__", "PeepholeLSTMCell.__init__"},
    "keras/layers/stack_layer.py": {"CudnnStack.__init__"},
    "keras/layers/zoneout.py": {"ZoneoutLSTM.__init__", "ZoneoutGRU.__init__"},
    "keras/layers/zoneout_cells.py": {"ZoneoutLSTMCell.__init__", "ZoneoutGRUCell.__init__"},
    "plain/_block_lstm.py": {"block_lstm"},
    "plain/block_gates.py": {"block_lstm_gates"},
    "plain/_cudnn_rnn.py": {"cudnn_rnn"},
    "plain/_layer_rnn.py": {"layer_rnn"},
    "plain/_quantized_layer_rnn.py": {"quantized_layer_rnn"},
}


def functions(tree, prefix=""):
    """(qualified name, node) of all functions, those inside of others too."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        name = f"{prefix}{node.name}" if named else prefix
        if named and not isinstance(node, ast.ClassDef):
            yield name, node
        yield from functions(node, f"{name}." if named else prefix)


def lines(function):
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return function.end_lineno - body[0].lineno + 1 if body else 0


def parameters(function):
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [one.arg for one in (given.vararg, given.kwarg) if one is not None]
    return [name for name in names if name not in ("self", "cls")]


def problems(path):
    """Sentences on the functions of a file that are too long or have too many parameters."""
    name = str(path.relative_to(PACKAGE))
    for function, node in functions(ast.parse(path.read_text())):
        if lines(node) > MOST_LINES:
            yield f"{function} has {lines(node)} lines"
        of_op = name.startswith("raw_ops/") or function in GIVEN.get(name, ())
        if len(parameters(node)) > MOST_PARAMETERS and not of_op:
            yield f"{function} has {len(parameters(node))} parameters"


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_functions_are_small(path):
    assert list(problems(path)) == []


def test_what_others_made_is_there():
    for name, given in GIVEN.items():
        found = dict(functions(ast.parse((PACKAGE / name).read_text())))
        assert all(len(parameters(found[one])) > MOST_PARAMETERS for one in given)


def test_a_function_that_is_too_large_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    path = tmp_path / "module.py"
    arguments = ", ".join(f"a{k}" for k in range(9))
    path.write_text(f"class A:\n    def f(self, {arguments}):\n" + "        pass\n" * 61)
    assert list(problems(path)) == ["A.f has 61 lines", "A.f has 9 parameters"]
