"""The data of the demo (examples/japanese_vowels): the loader accepts only the stored file, and convert makes it."""

import re

import numpy as np
import pytest

import convert
import vowels

HEADER = "#A comment: with a colon\n@problemName JapaneseVowels\n@classLabel true 1 2\n@data\n"


@pytest.fixture(scope="module")
def splits():
    return vowels.load()


def test_load(splits):
    train, test = splits
    assert train.frames.shape == (270, 26, 12)
    assert test.frames.shape == (370, 29, 12)
    assert np.bincount(train.speakers).tolist() == [30] * 9
    assert np.bincount(test.speakers).tolist() == [31, 35, 88, 44, 29, 24, 40, 50, 29]
    # Read off the source: first and last coefficients of the first utterance of both files.
    first = np.float32([1.860936, -0.207383, 0.088728])
    np.testing.assert_array_equal(train.frames[0, 0, [0, 1, 11]], first)
    np.testing.assert_array_equal(train.frames[0, 19, [0, 11]], np.float32([1.261441, -0.175986]))
    assert (train.lengths[0], train.speakers[0]) == (20, 0)
    np.testing.assert_array_equal(test.frames[0, 18, [0, 11]], np.float32([1.388998, 0.108629]))
    assert (test.lengths[0], test.speakers[0]) == (19, 0)


def test_hold_out_takes_the_last_of_each_speaker(splits):
    rest, held = splits[0].hold_out(6)
    assert np.bincount(rest.speakers).tolist() == [24] * 9
    assert np.bincount(held.speakers).tolist() == [6] * 9
    np.testing.assert_array_equal(held.frames[:6], splits[0].frames[24:30])


def cut(arrays, **rows):
    return arrays | {name: arrays[name][:count] for name, count in rows.items()}


def changed(arrays, name, index, value):
    array = arrays[name].copy()
    array[index] = value
    return arrays | {name: array}


# {case: (another content of the file, from the stored arrays; what the error names)}.
BROKEN = {
    "cut off": (lambda a: vowels.DEFAULT_PATH.read_bytes()[:1000], ".npz"),
    "no array": (lambda a: {name: a[name] for name in ("low", "high", "lengths")}, "speakers"),
    "another type": (lambda a: a | {"lengths": a["lengths"].astype(np.float64)}, "lengths"),
    "objects": (lambda a: a | {"lengths": a["lengths"].astype(object)}, ".npz"),
    "an utterance is gone": (lambda a: cut(a, lengths=639, speakers=639), "lengths"),
    "a label is gone": (lambda a: cut(a, speakers=639), "speakers"),
    "a frame is gone": (lambda a: cut(a, low=9960, high=9960), "(9960, 12)"),
    "low and high differ": (lambda a: cut(a, low=9960), "'low'"),
    "too long": (lambda a: changed(a, "lengths", 5, 30), "30 frames"),
    "no such speaker": (lambda a: changed(a, "speakers", 639, 10), "speakers"),
    "out of range": (lambda a: changed(a, "high", (7, 3), 127), "magnitude"),
    "one unit off": (lambda a: changed(a, "low", (7, 3), a["low"][7, 3] ^ 1), "SHA-256"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_load_rejects(tmp_path, case):
    with np.load(vowels.DEFAULT_PATH) as arrays:
        content, named = BROKEN[case][0](dict(arrays)), BROKEN[case][1]
    path = tmp_path / "bad.npz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.savez_compressed(path, **content)
    with pytest.raises(vowels.DataError, match=re.escape(named)):
        vowels.load(path)


def ts_lines(utterances):
    for frames, length, speaker in zip(utterances.frames, utterances.lengths, utterances.speakers):
        # The shortest text of a float32, as in the source: at most six decimals, at times 8.3E-4.
        series = (",".join(map(str, column)) for column in frames[:length].T)
        yield ":".join([*series, str(speaker + 1)])


def write_ts(folder, splits, first=0):
    """Writes the .ts files, the first without as many utterances."""
    for name, split in zip(("TRAIN", "TEST"), splits):
        lines = list(ts_lines(split))[first if name == "TRAIN" else 0 :]
        path = folder / f"JapaneseVowels_{name}.ts"
        path.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")


def test_convert(splits, tmp_path, capsys):
    new = tmp_path / "new.npz"
    assert convert.main([str(tmp_path), "--output", str(new)]) == 1  # no source
    write_ts(tmp_path, splits, first=1)
    assert convert.main([str(tmp_path), "--output", str(new)]) == 1
    assert "lengths" in capsys.readouterr().err and not new.exists()
    write_ts(tmp_path, splits)
    assert convert.main([str(tmp_path), "--output", str(new)]) == 0
    for one, old in zip(vowels.load(new), splits):
        np.testing.assert_array_equal(one.frames, old.frames)
        np.testing.assert_array_equal(one.lengths, old.lengths)
        np.testing.assert_array_equal(one.speakers, old.speakers)


def test_read_ts(tmp_path):
    path = tmp_path / "one.ts"
    path.write_text("@data\n8.3E-4,-1.5:2,-0.000001:9\n", encoding="utf-8")
    units, lengths, speakers = convert.read_ts(path)
    assert units.tolist() == [[830, 2_000_000], [-1_500_000, -1]]
    assert (lengths, speakers) == ([2], [9])
    for line in ("0.1234567:1", "0.1,0.2:0.3:1", "0.1,?:1", "0.1,0.2", "NaN:1"):
        path.write_text(f"@data\n{line}\n", encoding="utf-8")
        with pytest.raises(vowels.DataError, match="line 2: "):
            convert.read_ts(path)
