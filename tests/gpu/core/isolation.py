"""Runs checks in a child process, which is replaced when it hangs, crashes or loses its GPU.

So only such a check fails, and the checks after it still run. Findings are printed at once. This file
needs nothing but Python, so that the parent starts at once.
"""

import queue
import subprocess
import sys
import threading
import time

BEGIN = "begin"
GOOD, BAD = "ok  ", "FAIL"
TABLE = "table "  # before the title, unit and columns of the rows of a section
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
        print(f"{GOOD if good else BAD} {label} {text}", flush=True)
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
        return self.lines.get(timeout=max(0, seconds))

    def kill(self):
        self.process.kill()
        return self.process.wait()


class Supervisor:
    """Runs `command --first N`, again where it was lost, until all checks have run.

    Args:
        command: the child's arguments.
        listen: called with each line that is worth keeping, as soon as it is there.
        seconds: for everything; None: no limit.
        first_seconds: without a line, up to the end of a child's first check.
        next_seconds: The same for any other check.

    Attributes:
        passed, failed: numbers of checks.
        cut: whether the time was over before the checks were.
    """

    def __init__(
        self,
        command,
        listen=lambda line: print(line, flush=True),
        seconds=None,
        first_seconds=FIRST_SECONDS,
        next_seconds=NEXT_SECONDS,
    ):
        self.command, self.listen = command, listen
        self.first_seconds, self.next_seconds = first_seconds, next_seconds
        self.end = time.monotonic() + seconds if seconds else float("inf")
        self.passed = self.failed = 0
        self.cut = False

    def run(self):
        """Returns an exit status."""
        number = 0
        for _ in range(MOST_CHILDREN):
            child = _Child([*self.command, "--first", str(number)])
            try:
                number = self._follow(child, number)
            finally:
                child.kill()
            if number is None:
                break
        else:
            self._note(f"{BAD} the rest: not run, {MOST_CHILDREN} processes were lost")
        self.listen(f"{self.passed} passed, {self.failed} failed" + ", cut off" * self.cut)
        return int(self.failed > 0 or self.cut)

    def _note(self, line):
        good = line.startswith(GOOD)
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        self.listen(line)

    def _follow(self, child, number):
        """Counts what a child finds. Returns the number of the check to go on with, or None."""
        label, seconds = None, self.first_seconds
        while True:
            left = self.end - time.monotonic()
            try:
                line = child.next_line(min(seconds, left))
            except queue.Empty:
                if left < seconds:
                    self.cut = True
                    self.listen(f"the time is over, in: {label or 'the start of a process'}")
                    return None
                self._note(f"{BAD} {label or 'start'} stopped: no answer for {seconds} s")
                return None if label is None else number + 1
            if line is None:
                break
            if line.startswith(f"{BEGIN} "):
                number, label = line.split(" ", 2)[1:]
                number = int(number)
            elif line.startswith((GOOD, BAD)):
                self._note(line)
                label, seconds = None, self.next_seconds
            else:
                self.listen(line)
        status = child.process.wait()
        if label is not None:
            self._note(f"{BAD} {label} its process ended with {status}")
            return number + 1
        if status == LOST:
            return number + 1
        if status != 0:
            self._note(f"{BAD} start: the process ended with {status}")
        return None
