"""The smoke set of random models in every format; `make problems` runs the larger set."""

import collections

import pytest

from robustness.model_problem import grammar, rejections
from robustness.model_problem.check import RIGHT, check, failures
from robustness.model_problem.runtimes import Runtimes
from robustness.model_problem.sets import SETS, run_lines
from support.selection import all_but

# A block of five models takes one to three minutes.
BLOCKS = 12


@pytest.fixture(scope="module")
def runtimes():
    with Runtimes() as one:
        yield one


def test_a_line_and_back():
    for number in range(300):
        network = grammar.draw(3, number)
        assert grammar.parse(str(network)) == network
    assert grammar.parse("layers=gru,lstm T=3  # as a user writes it") == grammar.fitting(
        grammar.Network(layers=("gru", "lstm"), T=3)
    )
    with pytest.raises(ValueError, match="'steps=3' has an unknown key; known are layers, "):
        grammar.parse("steps=3")


@pytest.mark.parametrize("block", all_but(range(BLOCKS), 0, 1))
def test_smoke(block, runtimes):
    lines = [str(grammar.draw(0, number)) for number in range(block, SETS["smoke"], BLOCKS)]
    records = run_lines(lines, runtimes)
    failed = [text for record in records for text in failures(record["found"], record["line"])]
    assert not failed, "\n".join(failed)
    found = collections.Counter(
        (format, outcome == RIGHT)
        for record in records
        for format, outcome in record["found"].items()
    )
    # An export that rejects everything is never wrong. Many models do not stream.
    least = {format: len(lines) // 2 for format in grammar.FORMATS} | {"rnn": 1}
    assert all(found[format, True] >= least[format] for format in grammar.FORMATS), found


# Lines that have found a fault.
KEPT = (
    "names=odd format=onnx",
    "shared=siamese int8=file format=onnx",
    "mask=layer outputs=sequence T=7 format=litert",
    "layers=cells,stack_lstm units=2 outputs=sequence mask=input open=both format=litert",
    "layers=stack_lstm api=sequential B=3 open=time fix=time format=litert",
    "dtype=float64 cast=1 verify=1 format=openvino",
    "outputs=softmax api=called input=words verify=1 format=rnn",
    "layers=gru input=words format=rnn stateful=1",
)


@pytest.mark.parametrize("line", KEPT)
def test_lines_that_have_found_a_fault(line, runtimes):
    network = grammar.parse(line)
    assert check(network, runtimes) == {network.format: RIGHT}


# A line for each row of the page and each of its formats.
EXAMPLES = {
    '`weight_format="int8"`': "int8=file",
    "stateful layers": "stateful=1",
    "float64": "dtype=float64",
    "most models of float16 and bfloat16": "layers=gru direction=both dtype=float16",
    "most models of bfloat16": "layers=gru mask=layer outputs=sequence dtype=bfloat16",
    "models that do not stream": "direction=both",
    "parts that a stepper lacks": "layers=own_cell",
}


def test_the_page_has_every_reason():
    assert {row.model for row in rejections.rows()} == set(rejections.MODELS) == set(EXAMPLES)


@pytest.mark.parametrize("model", EXAMPLES)
def test_the_rows_of_the_page(model, runtimes):
    formats = {f for row in rejections.rows() if row.model == model for f in row.formats}
    for format in formats:
        found = check(grammar.parse(f"{EXAMPLES[model]} format={format}"), runtimes)
        assert found == {format: f"rejected: {model}"}


@pytest.mark.parametrize("model", rejections.MODELS)
def test_an_error_of_other_models_is_found(model):
    row = next(row for row in rejections.rows() if row.model == model)
    message = row.error.replace("\\", "").replace(".*", "it")
    for network in (grammar.Network(), grammar.parse(EXAMPLES[model])):
        outcome = rejections.outcome(network, row.formats[0], message)
        assert outcome.startswith("wrong" if network == grammar.Network() else "rejected"), outcome


class Changed(Runtimes):
    """Runtimes with another result in one call."""

    def __init__(self, call, change):
        super().__init__()
        self._call, self._change = call, change

    def run(self, format, path, calls):
        results = super().run(format, path, calls)
        results[self._call] = self._change(results[self._call])
        return results


@pytest.mark.parametrize("call", range(5))
def test_a_wrong_result_is_found(call):
    network = grammar.parse("open=both mask=layer format=onnx")
    with Changed(call, lambda got: {name: one + 1e-4 for name, one in got.items()}) as runtimes:
        assert f"last of call {call + 1} differs by 0.0001" in check(network, runtimes)["onnx"]
