"""The stored utterances and the checks of their loader."""

import re

import numpy as np
import pytest

import vowels


@pytest.fixture(name="stored")
def fixture_stored():
    with np.load(vowels.DEFAULT_PATH) as arrays:
        return dict(arrays)


@pytest.fixture(name="splits", scope="module")
def fixture_splits():
    return vowels.load()


def write(path, **arrays):
    np.savez_compressed(path, **arrays)
    return path


def expect_error(path, sentence):
    with pytest.raises(vowels.DataError, match=re.escape(sentence)) as caught:
        vowels.load(path)
    assert path.name in str(caught.value)


def test_counts_and_shapes(splits):
    train, test = splits
    assert train.frames.shape == (270, 26, 12)
    assert test.frames.shape == (370, 29, 12)
    assert np.bincount(train.speakers).tolist() == [30] * 9
    assert np.bincount(test.speakers).tolist() == [31, 35, 88, 44, 29, 24, 40, 50, 29]
    assert (train.frames.dtype, train.lengths.dtype, train.speakers.dtype) == (
        np.float32,
        np.int32,
        np.int32,
    )


def test_known_values(splits):
    # Read off the source: first and last coefficients of the first utterance of both files.
    train, test = splits
    np.testing.assert_array_equal(
        train.frames[0, 0, [0, 1, 11]], np.float32([1.860936, -0.207383, 0.088728])
    )
    np.testing.assert_array_equal(train.frames[0, 19, [0, 11]], np.float32([1.261441, -0.175986]))
    assert (train.lengths[0], train.speakers[0]) == (20, 0)
    np.testing.assert_array_equal(test.frames[0, 18, [0, 11]], np.float32([1.388998, 0.108629]))
    assert (test.lengths[0], test.speakers[0]) == (19, 0)


def test_hold_out_takes_the_last_of_each_speaker(splits):
    rest, held = splits[0].hold_out(6)
    assert np.bincount(rest.speakers).tolist() == [24] * 9
    assert np.bincount(held.speakers).tolist() == [6] * 9
    np.testing.assert_array_equal(held.frames[:6], splits[0].frames[24:30])


def damaged(share):
    """The stored file with a flipped byte."""
    content = bytearray(vowels.DEFAULT_PATH.read_bytes())
    content[int(len(content) * share)] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [b"", b"not a zip file", b"PK\x03\x04" + bytes(60)]
    + [vowels.DEFAULT_PATH.read_bytes()[:k] for k in (1000, 100_000)]
    + [damaged(share) for share in (0.05, 0.3, 0.6, 0.9)],
    ids=range(9),
)
def test_not_an_npz_file(tmp_path, content):
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    expect_error(path, "cannot be read as an .npz file")


def test_no_file(tmp_path):
    expect_error(tmp_path / "none.npz", "no data file")
    expect_error(tmp_path, "no data file")


@pytest.mark.parametrize("name", ["low", "high", "lengths", "speakers"])
def test_missing_array_and_wrong_dtype(tmp_path, stored, name):
    array = stored.pop(name)
    expect_error(write(tmp_path / "bad.npz", **stored), name)
    stored[name] = array.astype(np.float64)
    expect_error(write(tmp_path / "bad.npz", **stored), name)
    stored[name] = array.astype(object)
    expect_error(write(tmp_path / "bad.npz", **stored), "cannot be read as an .npz file")


def cut(arrays, **rows):
    return arrays | {name: arrays[name][:count] for name, count in rows.items()}


def changed(arrays, name, index, value):
    array = arrays[name].copy()
    array[index] = value
    return arrays | {name: array}


BROKEN = {
    "an utterance is gone": (lambda a: cut(a, lengths=639, speakers=639), "lengths"),
    "a label is gone": (lambda a: cut(a, speakers=639), "speakers"),
    "a frame is gone": (lambda a: cut(a, low=9960, high=9960), "(9960, 12)"),
    "low and high differ": (lambda a: cut(a, low=9960), "'low'"),
    "too long": (lambda a: changed(a, "lengths", 5, 30), "30 frames"),
    "empty": (lambda a: changed(a, "lengths", 5, 0), "0 to 29 frames"),
    "no such speaker": (lambda a: changed(a, "speakers", 639, 10), "speakers"),
    "out of range": (lambda a: changed(a, "high", (7, 3), 127), "magnitude"),
    "one unit off": (lambda a: changed(a, "low", (7, 3), a["low"][7, 3] ^ 1), "SHA-256"),
    "another label": (lambda a: changed(a, "speakers", 0, 2), "SHA-256"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_content(tmp_path, stored, case):
    breaking, named = BROKEN[case]
    expect_error(write(tmp_path / "bad.npz", **breaking(stored)), named)


def test_save_refuses_what_load_would(tmp_path):
    with pytest.raises(vowels.DataError, match="lengths"):
        vowels.save(tmp_path / "new.npz", np.zeros((7, 12)), [7], [1])
    assert not (tmp_path / "new.npz").exists()
