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


def test_lengths_are_real(splits):
    for utterances in splits:
        steps = np.arange(utterances.frames.shape[1])
        valid = steps < utterances.lengths[:, None]
        assert not utterances.frames[~valid].any()
        assert (utterances.frames[valid] != 0).any(axis=1).all()
        # Padding by repetition would give equal last frames.
        rows = np.arange(len(utterances))
        last = utterances.frames[rows, utterances.lengths - 1]
        before = utterances.frames[rows, utterances.lengths - 2]
        assert (last != before).any(axis=1).all()
    lengths = np.concatenate([split.lengths for split in splits])
    assert (lengths.min(), lengths.max(), len(set(lengths))) == (7, 29, 20)


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


def test_missing_file(tmp_path):
    expect_error(tmp_path / "none.npz", "There is no data file at")


def test_folder_instead_of_a_file(tmp_path):
    expect_error(tmp_path, "There is no data file at")


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04" + bytes(60)])
def test_not_an_npz_file(tmp_path, content):
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    expect_error(path, "cannot be read as an .npz file")


def test_a_single_array_instead_of_an_archive(tmp_path):
    path = tmp_path / "bad.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    expect_error(path, "cannot be read as an .npz file")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_truncated_file(tmp_path, share):
    content = vowels.DEFAULT_PATH.read_bytes()
    path = tmp_path / "cut.npz"
    path.write_bytes(content[: int(len(content) * share)])
    expect_error(path, "cannot be read as an .npz file")


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9])
def test_flipped_byte(tmp_path, share):
    content = bytearray(vowels.DEFAULT_PATH.read_bytes())
    content[int(len(content) * share)] ^= 0xFF
    path = tmp_path / "flipped.npz"
    path.write_bytes(content)
    expect_error(path, "cannot be read as an .npz file")


@pytest.mark.parametrize("name", ["low", "high", "lengths", "speakers"])
def test_missing_array(tmp_path, stored, name):
    del stored[name]
    expect_error(write(tmp_path / "bad.npz", **stored), f"{name} is not a file in the archive")


@pytest.mark.parametrize("name", ["low", "high", "lengths", "speakers"])
def test_wrong_dtype(tmp_path, stored, name):
    stored[name] = stored[name].astype(np.float64)
    expect_error(write(tmp_path / "bad.npz", **stored), f"array {name!r} is float64 of rank")


def test_pickled_objects_are_refused(tmp_path, stored):
    stored["lengths"] = stored["lengths"].astype(object)
    expect_error(write(tmp_path / "bad.npz", **stored), "cannot be read as an .npz file")


def cut(arrays, **rows):
    return arrays | {name: arrays[name][:count] for name, count in rows.items()}


def changed(arrays, name, index, value):
    array = arrays[name].copy()
    array[index] = value
    return arrays | {name: array}


BROKEN = {
    "an utterance is gone": (
        lambda a: cut(a, lengths=639, speakers=639),
        "lengths has shape (639,), expected (640,)",
    ),
    "a label is gone": (
        lambda a: cut(a, speakers=639),
        "speakers has shape (639,), expected (640,)",
    ),
    "a frame is gone": (lambda a: cut(a, low=9960, high=9960), "the frames have shape (9960, 12)"),
    "low and high differ": (lambda a: cut(a, low=9960), "'low' has shape (9960, 12) and 'high'"),
    "too long": (lambda a: changed(a, "lengths", 5, 30), "utterances have 7 to 30 frames"),
    "empty": (lambda a: changed(a, "lengths", 5, 0), "utterances have 0 to 29 frames"),
    "no such speaker": (
        lambda a: changed(a, "speakers", 639, 10),
        "the test speakers are [1, 2, 3, 4, 5, 6, 7",
    ),
    "out of range": (lambda a: changed(a, "high", (7, 3), 127), "a coefficient has magnitude 8.3"),
    "one unit off": (
        lambda a: changed(a, "low", (7, 3), a["low"][7, 3] ^ 1),
        "the content has SHA-256",
    ),
    "another label": (lambda a: changed(a, "speakers", 0, 2), "the content has SHA-256"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_content(tmp_path, stored, case):
    breaking, sentence = BROKEN[case]
    expect_error(write(tmp_path / "bad.npz", **breaking(stored)), sentence)


def test_save_refuses_what_load_would(tmp_path):
    with pytest.raises(vowels.DataError, match="lengths has shape"):
        vowels.save(tmp_path / "new.npz", np.zeros((7, 12)), [7], [1])
    assert not (tmp_path / "new.npz").exists()
