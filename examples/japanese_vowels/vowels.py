"""Stores, reads and checks the Japanese Vowels utterances. Needs only numpy."""

import dataclasses
import hashlib
import pathlib
import zipfile
import zlib

import numpy as np

DEFAULT_PATH = pathlib.Path(__file__).resolve().parent / "japanese_vowels.npz"

NUM_SPEAKERS = 9
NUM_CEPSTRA = 12
SHORTEST, LONGEST = 7, 29
NUM_TRAIN, NUM_TEST = 270, 370
# The source writes every coefficient with at most six decimals, so millionths are exact integers.
UNITS = 1_000_000
# The largest magnitude of a coefficient in the source is 2.21.
LARGEST = 3 * UNITS
# The hash of the decoded integers, lengths and labels. WHY not of the file: zlib versions compress
# differently.
SHA256 = "cb2507460895d24ddce9552dfd2dd186e3d8d86e8c2fcbb93fec5f25b88d477a"

_ARRAYS = ("low", "high", "lengths", "speakers")


class DataError(Exception):
    """The data file is missing, unreadable or wrong."""


@dataclasses.dataclass(frozen=True)
class Utterances:
    """Utterances of one split, padded with zeros after the last frame of each.

    Attributes:
        frames: float32 [B, T, 12], where T is the longest of the B utterances.
        lengths: int32 [B], the number of frames before the padding.
        speakers: int32 [B], 0 to 8.
    """

    frames: np.ndarray
    lengths: np.ndarray
    speakers: np.ndarray

    def take(self, rows):
        """Returns the utterances with these row numbers. The padding does not change."""
        return Utterances(self.frames[rows], self.lengths[rows], self.speakers[rows])

    def hold_out(self, count):
        """Returns two parts: the utterances without the last `count` of each speaker, and the last `count`."""
        held = np.zeros(len(self), bool)
        for speaker in range(NUM_SPEAKERS):
            held[np.flatnonzero(self.speakers == speaker)[-count:]] = True
        return self.take(~held), self.take(held)

    def __len__(self):
        return len(self.lengths)


def load(path=DEFAULT_PATH):
    """Reads and checks the data file.

    Args:
        path: a file that `save` wrote.

    Returns:
        The training and the test `Utterances`, in the order of the source.

    Raises:
        DataError: The file is missing or wrong. The message names the problem and the solution.
    """
    units, lengths, speakers = _decode(_read_arrays(pathlib.Path(path)), path)
    _check(units, lengths, speakers, path)
    train, test = slice(None, NUM_TRAIN), slice(NUM_TRAIN, None)
    first_test_frame = int(lengths[train].sum())
    return (
        _pad(units[:first_test_frame], lengths[train], speakers[train]),
        _pad(units[first_test_frame:], lengths[test], speakers[test]),
    )


def save(path, units, lengths, speakers):
    """Writes a data file: the 270 training utterances, then the 370 test utterances.

    Args:
        path: the file to write.
        units: int32 [frames of all utterances, 12], coefficients in millionths.
        lengths: [640], frames of each utterance.
        speakers: [640], 1 to 9.

    Raises:
        DataError: The counts, lengths, labels or values are not those of the data set.
    """
    units = np.asarray(units, np.int32)
    lengths, speakers = np.asarray(lengths, np.uint8), np.asarray(speakers, np.uint8)
    _check(units, lengths.astype(np.int64), speakers.astype(np.int64), path)
    # WHY two arrays: for a compressor, the low 16 bits are noise and the high bits are not. Separate
    # arrays are smaller by a quarter.
    np.savez_compressed(
        path,
        low=(units & 0xFFFF).astype(np.uint16),
        high=(units >> 16).astype(np.int8),
        lengths=lengths,
        speakers=speakers,
    )


def digest(units, lengths, speakers):
    """Returns the SHA-256 of the decoded content, the same on every machine."""
    content = hashlib.sha256()
    for array, dtype in ((units, "<i4"), (lengths, "u1"), (speakers, "u1")):
        content.update(np.ascontiguousarray(array, dtype).tobytes())
    return content.hexdigest()


def _read_arrays(path):
    if not path.is_file():
        raise DataError(
            f"There is no data file at {path}. It comes with the repository as "
            "examples/japanese_vowels/japanese_vowels.npz; convert.py in the same folder makes it again."
        )
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in _ARRAYS}
    except KeyError as error:
        raise DataError(f"{path} is not the Japanese Vowels file: {error.args[0]}.") from error
    except (
        AttributeError,
        EOFError,
        OSError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise DataError(f"{path} cannot be read as an .npz file: {error}") from error


def _decode(stored, path):
    for name, ndim, kind in (
        ("low", 2, np.uint16),
        ("high", 2, np.int8),
        ("lengths", 1, np.uint8),
        ("speakers", 1, np.uint8),
    ):
        array = stored[name]
        if array.ndim != ndim or array.dtype != kind:
            raise DataError(
                f"{path}: array {name!r} is {array.dtype} of rank {array.ndim}, "
                f"expected {np.dtype(kind)} of rank {ndim}."
            )
    if stored["low"].shape != stored["high"].shape:
        raise DataError(
            f"{path}: 'low' has shape {stored['low'].shape} and 'high' {stored['high'].shape}, "
            "expected the same."
        )
    units = stored["high"].astype(np.int32) * 65536 + stored["low"]
    return units, stored["lengths"].astype(np.int64), stored["speakers"].astype(np.int64)


def _check(units, lengths, speakers, path):
    def expect(condition, sentence):
        if not condition:
            raise DataError(f"{path}: {sentence}")

    count = NUM_TRAIN + NUM_TEST
    for name, array in (("lengths", lengths), ("speakers", speakers)):
        expect(array.shape == (count,), f"{name} has shape {array.shape}, expected ({count},).")
    low, high = lengths.min(), lengths.max()
    expect(
        (low, high) == (SHORTEST, LONGEST),
        f"utterances have {low} to {high} frames, expected {SHORTEST} to {LONGEST}.",
    )
    frames = (int(lengths.sum()), NUM_CEPSTRA)
    expect(units.shape == frames, f"the frames have shape {units.shape}, expected {frames}.")
    for name, labels in (("training", speakers[:NUM_TRAIN]), ("test", speakers[NUM_TRAIN:])):
        found = np.unique(labels).tolist()
        expect(
            found == list(range(1, NUM_SPEAKERS + 1)),
            f"the {name} speakers are {found}, expected 1 to {NUM_SPEAKERS}.",
        )
    largest = int(np.abs(units).max())
    expect(
        largest <= LARGEST,
        f"a coefficient has magnitude {largest / UNITS}, expected at most {LARGEST / UNITS}.",
    )
    # The Masking layer of the stock model could not distinguish a frame of zeros from padding.
    expect(np.any(units != 0, axis=1).all(), "a frame is all zeros.")
    found = digest(units, lengths, speakers)
    expect(found == SHA256, f"the content has SHA-256 {found}, expected {SHA256}.")


def _pad(units, lengths, speakers):
    frames = np.zeros((len(lengths), lengths.max(), NUM_CEPSTRA), np.float32)
    # Row-major selection: frame by frame within an utterance, in the order of `units`.
    frames[np.arange(frames.shape[1]) < lengths[:, None]] = units / UNITS
    return Utterances(frames, lengths.astype(np.int32), (speakers - 1).astype(np.int32))
