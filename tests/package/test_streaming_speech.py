"""Runs examples/streaming_speech at a small size."""

import importlib
import pathlib
import re
import wave

import numpy as np
import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "streaming_speech"


@pytest.fixture
def stream(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE.parent / "comparisons"))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    return importlib.import_module("stream")


def words(text):
    """Each line without its numbers, letters said and heard, and the width of columns."""
    text = re.sub(r"^(said|heard) .*$", r"\1", text, flags=re.MULTILINE)
    return [" ".join(re.sub(r"[\d.]+", "0", line).split()) for line in text.splitlines()]


def test_every_format_hears_what_was_said(stream, capsys, tmp_path):
    arguments = ["--no-wait", "--seconds", "2", "--units", "64", "--wav", str(tmp_path / "a.wav")]
    letters = stream.main(arguments)
    said, whole = letters.pop("said"), letters["whole sequence"]
    assert len(said) == 41 and stream.errors(whole, said) <= 8
    assert len(letters) > 2 and set(letters.values()) == {whole}
    out = capsys.readouterr().out
    assert f"said   {said}\nheard  {whole}\n" in out
    missing = {f"{line}" for line in words(out) if ": pip install" in line}
    assert {*words(out)} - missing <= {*words((EXAMPLE / "README.md").read_text())}
    with wave.open(str(tmp_path / "a.wav")) as file:
        assert file.getnframes() == 41 * 6 * 128


def test_a_file_keeps_the_features(stream, tmp_path, rng):
    features = 1.4 * rng.standard_normal((20, 16))
    stream.sound.write(tmp_path / "a.wav", features)
    read = [stream.sound.features(frame) for frame in stream.sound.frames(tmp_path / "a.wav")]
    np.testing.assert_allclose(read, features, rtol=0, atol=0.05)
    with wave.open(str(tmp_path / "b.wav"), "wb") as file:
        file.setparams((2, 2, 44100, 0, "NONE", ""))
    with pytest.raises(ValueError, match="must have 1 channel"):
        next(stream.sound.frames(tmp_path / "b.wav"))
