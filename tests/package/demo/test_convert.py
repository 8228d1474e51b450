"""The conversion from the .ts files, on files made from the stored utterances."""

import numpy as np
import pytest

import convert
import vowels

HEADER = "#A comment: with a colon\n@problemName JapaneseVowels\n@classLabel true 1 2\n@data\n"


def ts_lines(utterances):
    for frames, length, speaker in zip(utterances.frames, utterances.lengths, utterances.speakers):
        # The shortest text of a float32, as in the source: at most six decimals, at times 8.3E-4.
        series = (",".join(map(str, column)) for column in frames[:length].T)
        yield ":".join([*series, str(speaker + 1)])


def write_ts(folder, lines_of_train=None):
    for name, split in zip(("TRAIN", "TEST"), vowels.load()):
        lines = list(ts_lines(split))
        if name == "TRAIN" and lines_of_train:
            lines = lines_of_train(lines)
        path = folder / f"JapaneseVowels_{name}.ts"
        path.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")


def test_round_trip(tmp_path, capsys):
    write_ts(tmp_path)
    assert convert.main([str(tmp_path), "--output", str(tmp_path / "new.npz")]) == 0
    assert "640 utterances, 9961 frames" in capsys.readouterr().out
    for new, old in zip(vowels.load(tmp_path / "new.npz"), vowels.load()):
        np.testing.assert_array_equal(new.frames, old.frames)
        np.testing.assert_array_equal(new.lengths, old.lengths)
        np.testing.assert_array_equal(new.speakers, old.speakers)


def test_file_is_small():
    assert vowels.DEFAULT_PATH.stat().st_size < 300_000


def test_exponents_and_signs_are_exact(tmp_path):
    path = tmp_path / "one.ts"
    path.write_text("@data\n8.3E-4,-1.5:2,-0.000001:9\n", encoding="utf-8")
    units, lengths, speakers = convert.read_ts(path)
    assert units.tolist() == [[830, 2_000_000], [-1_500_000, -1]]
    assert (lengths, speakers) == ([2], [9])


@pytest.mark.parametrize(
    "line, sentence",
    [
        ("0.1234567:1", "line 2: 0.1234567 has more than six decimals"),
        ("0.1,0.2:0.3:1", "line 2: "),
        ("0.1,?:1", "line 2: "),
        ("0.1,0.2", "line 2: "),
        ("NaN:1", "line 2: "),
    ],
)
def test_malformed_line(tmp_path, line, sentence):
    path = tmp_path / "bad.ts"
    path.write_text(f"@data\n{line}\n", encoding="utf-8")
    with pytest.raises(vowels.DataError, match=sentence):
        convert.read_ts(path)


def test_no_utterances(tmp_path):
    path = tmp_path / "bad.ts"
    path.write_text("0.1:1\n", encoding="utf-8")
    with pytest.raises(vowels.DataError, match="no utterances after a line '@data'"):
        convert.read_ts(path)


@pytest.mark.parametrize(
    "lines_of_train, sentence",
    [
        (lambda lines: lines[:-1], "lengths has shape (639,)"),
        (lambda lines: lines[1:] + lines[:1], "the content has SHA-256"),
    ],
)
def test_another_data_set_is_refused(tmp_path, capsys, lines_of_train, sentence):
    write_ts(tmp_path, lines_of_train)
    assert convert.main([str(tmp_path), "--output", str(tmp_path / "new.npz")]) == 1
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "new.npz").exists()


def test_missing_source(tmp_path, capsys):
    assert convert.main([str(tmp_path / "none")]) == 1
    assert "JapaneseVowels_TRAIN.ts" in capsys.readouterr().err
