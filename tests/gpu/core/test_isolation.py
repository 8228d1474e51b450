"""isolation.py: if a check hangs, crashes or loses its device, only this check fails."""

import pathlib
import subprocess
import sys

import pytest

from support.selection import all_but

HERE = pathlib.Path(__file__).resolve().parent

PROGRAM = """
import os, signal, sys, time
import isolation

def fine():
    return True, "as it should be"

def wrong():
    return False, "an error\\nof two lines"

def raises():
    raise RuntimeError("no such thing")

def crashes():
    os.kill(os.getpid(), signal.SIGSEGV)

def hangs():
    time.sleep(600)

checks = [(function.__name__, function) for function in ({checks})]
if "--first" in sys.argv:
    {start}
    print("a device")
    isolation.run(checks, int(sys.argv[-1]), lambda: {usable})
else:
    command = [sys.executable, *sys.argv]
    limits = {{"first_seconds": 10, "next_seconds": 2, "seconds": {seconds}}}
    sys.exit(isolation.Supervisor(command, **limits).run())
"""


def supervise(folder, checks, usable="True", start="pass", seconds=None):
    program = folder / "program.py"
    text = PROGRAM.format(checks=checks, usable=usable, start=start, seconds=seconds)
    program.write_text(text)
    return subprocess.run(
        [sys.executable, "-B", program],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(HERE)},
        timeout=120,
    )


def found(done):
    return [line for line in done.stdout.splitlines() if line.startswith(("ok  ", "FAIL"))]


def test_all_good(tmp_path):
    done = supervise(tmp_path, "fine, fine")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "a device",
        "ok   fine as it should be",
        "ok   fine as it should be",
        "2 passed, 0 failed",
    ]


def test_a_failure_does_not_stop_the_rest(tmp_path):
    done = supervise(tmp_path, "fine, crashes, raises, hangs, wrong, fine")
    assert done.returncode == 1
    assert found(done) == [
        "ok   fine as it should be",
        "FAIL crashes its process ended with -11",
        "FAIL raises RuntimeError: no such thing",
        "FAIL hangs stopped: no answer for 2 s",
        "FAIL wrong an error of two lines",
        "ok   fine as it should be",
    ]
    assert done.stdout.splitlines()[-1] == "2 passed, 4 failed"


def test_a_lost_device_costs_one_check(tmp_path):
    done = supervise(tmp_path, "wrong, fine", usable="False")
    assert found(done) == ["FAIL wrong an error of two lines", "ok   fine as it should be"]
    assert done.stdout.count("a device") == 2  # in a process of its own


def test_crashes_without_end_are_given_up(tmp_path):
    done = supervise(tmp_path, "*[crashes] * 50, fine")
    assert done.returncode == 1
    assert found(done)[-1] == "FAIL the rest: not run, 8 processes were lost"
    assert done.stdout.splitlines()[-1] == "0 passed, 9 failed"


@pytest.mark.parametrize(
    "start", all_but(["sys.exit('no library')", "time.sleep(60)"], "sys.exit('no library')")
)
def test_a_child_that_does_not_start_is_a_failure(tmp_path, start):
    done = supervise(tmp_path, "fine,", start=start)
    assert done.returncode == 1
    assert len(found(done)) == 1 and "start" in found(done)[0]


def test_the_deadline_stops_a_check_and_is_no_failure_of_it(tmp_path):
    done = supervise(tmp_path, "fine, hangs, fine", seconds=1.5)
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == [
        "ok   fine as it should be",
        "the time is over, in: hangs",
        "1 passed, 0 failed, cut off",
    ]
