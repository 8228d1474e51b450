"""benchmarks.speech measures each package and mode in a process, and prints a line for each."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3]))

from benchmarks import speech  # noqa: E402


@pytest.mark.thorough
def test_a_line_for_each_package_and_mode(capsys):
    sizes = ("--units", "4", "--count", "32", "--epochs", "1", "--rounds", "1")
    speech.main([*sizes, "--packages", "Keras", "tf_rnn_ops"])
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    wanted = [[package, mode] for mode in speech.MODES for package in ("Keras", "tf_rnn_ops")]
    assert [line[:2] for line in lines] == wanted
    for *_, median, smallest, largest, mebibytes in lines:
        assert 0 < float(smallest) <= float(median) <= float(largest)
        assert 100 < float(mebibytes) < 10_000


def test_the_peak_is_that_of_this_process():
    before = speech.peak_mebibytes()
    block = bytearray(
        int((before + 64) * 2**20)
    )  # Zeros of calloc are not resident: write to each page.
    block[::4096] = b"x" * len(block[::4096])
    assert speech.peak_mebibytes() > before + 32
