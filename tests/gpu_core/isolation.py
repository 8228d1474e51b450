"""Runs checks in a child process, which is replaced when it hangs, crashes or loses its GPU.

So such a check fails alone: the ones behind it still run. What is found is printed as it is found.
"""

import queue
import subprocess
import sys
import threading

BEGIN = "begin"
LOST = 3  # exit status of a child whose device no longer answers
# The first check includes starting Python and the GPU.
FIRST_SECONDS, NEXT_SECONDS = 120, 30
MOST_CHILDREN = 8


def run(checks, first, usable):
    """In the child: runs the checks from number `first` on.

    Args:
        checks: pairs of a label and a function, which returns whether the check is good and a text.
        first: the number of the first one to run.
        usable: whether the device still answers; asked behind a check that failed.
    """
    for number, (label, check) in enumerate(checks):
        if number < first:
            continue
        print(f"{BEGIN} {number} {label}", flush=True)
        try:
            good, text = check()
        except Exception as error:  # a failure like any other
            good, text = False, f"{type(error).__name__}: {error}"
        text = " ".join(text.split())
        print(f"{'ok  ' if good else 'FAIL'} {label} {text}", flush=True)
        if not good and not usable():
            sys.exit(LOST)


class _Child:
    """A process and the lines that it prints."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def next_line(self, seconds):
        """None at the end. Raises queue.Empty when there is none in time."""
        return self.lines.get(timeout=seconds)

    def kill(self):
        self.process.kill()
        return self.process.wait()


class _Count:
    def __init__(self):
        self.passed = self.failed = 0

    def note(self, line):
        good = line.startswith("ok  ")
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        print(line, flush=True)


def _follow(child, number, count, first_seconds, next_seconds):
    """Counts what a child finds. Returns the number of the check to go on with, or None."""
    label, seconds = None, first_seconds
    while True:
        try:
            line = child.next_line(seconds)
        except queue.Empty:
            child.kill()
            count.note(f"FAIL {label or 'start'} stopped: no answer for {seconds} s")
            return None if label is None else number + 1
        if line is None:
            break
        if line.startswith(f"{BEGIN} "):
            number, label = line.split(" ", 2)[1:]
            number = int(number)
        elif line.startswith(("ok  ", "FAIL")):
            count.note(line)
            label, seconds = None, next_seconds
        else:
            print(line, flush=True)
    status = child.process.wait()
    if label is not None:
        count.note(f"FAIL {label} its process ended with {status}")
        return number + 1
    if status == LOST:
        return number + 1
    if status != 0:
        count.note(f"FAIL start: the process ended with {status}")
    return None


def supervise(command, first_seconds=FIRST_SECONDS, next_seconds=NEXT_SECONDS):
    """In the parent: runs `command --first N` until all checks have run. Returns an exit status."""
    count, number = _Count(), 0
    for _ in range(MOST_CHILDREN):
        child = _Child([*command, "--first", str(number)])
        number = _follow(child, number, count, first_seconds, next_seconds)
        if number is None:
            break
    else:
        count.note(f"FAIL the rest: not run, {MOST_CHILDREN} processes were lost")
    print(f"{count.passed} passed, {count.failed} failed")
    return int(count.failed > 0)
