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


def test_exponents_and_signs_are_exact(tmp_path):
    path = tmp_path / "one.ts"
    path.write_text("@data\n8.3E-4,-1.5:2,-0.000001:9\n", encoding="utf-8")
    units, lengths, speakers = convert.read_ts(path)
    assert units.tolist() == [[830, 2_000_000], [-1_500_000, -1]]
    assert (lengths, speakers) == ([2], [9])


@pytest.mark.parametrize(
    "text",
    [
        "@data\n0.1234567:1\n",
        "@data\n0.1,0.2:0.3:1\n",
        "@data\n0.1,?:1\n",
        "@data\n0.1,0.2\n",
        "@data\nNaN:1\n",
        "0.1:1\n",
    ],
)
def test_malformed_file(tmp_path, text):
    path = tmp_path / "bad.ts"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(vowels.DataError, match="line 2: " if text[0] == "@" else "@data"):
        convert.read_ts(path)


@pytest.mark.parametrize(
    "lines_of_train, named",
    [(lambda lines: lines[:-1], "lengths"), (lambda lines: lines[1:] + lines[:1], "SHA-256")],
)
def test_another_data_set_is_refused(tmp_path, capsys, lines_of_train, named):
    write_ts(tmp_path, lines_of_train)
    assert convert.main([str(tmp_path), "--output", str(tmp_path / "new.npz")]) == 1
    assert named in capsys.readouterr().err
    assert not (tmp_path / "new.npz").exists()


def test_missing_source(tmp_path, capsys):
    assert convert.main([str(tmp_path / "none")]) == 1
    assert "JapaneseVowels_TRAIN.ts" in capsys.readouterr().err
