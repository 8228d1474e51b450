"""Runs examples/streaming_speech at a small size."""

import importlib.util
import pathlib

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "streaming_speech"


def load_example():
    spec = importlib.util.spec_from_file_location("stream", EXAMPLE / "stream.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_format_hears_what_the_model_hears(capsys):
    arguments = ["--no-wait", "--seconds", "0.4", "--units", "16", "--layers", "2"]
    letters = load_example().main(arguments)
    assert len(letters["whole sequence"]) > 5
    assert len(letters) > 2 and set(letters.values()) == {letters["whole sequence"]}
    lines = capsys.readouterr().out.splitlines()
    for name in letters.keys() - {"whole sequence"}:
        (line,) = (line for line in lines if line.startswith(name) and ":" not in line)
        assert len(line.removeprefix(name).split()) == 2
    assert lines[-1] == "The letters are the same as for the whole sequence at once."


def test_decoding():
    decode = load_example().decode
    scores = [[0] * 29 for _ in range(6)]
    for row, best in zip(scores, (2, 2, 28, 2, 3, 28)):
        row[best] = 1
    assert decode(scores) == "aab"
