"""Calls of changing shapes from many threads: the same bits at every call, and memory that stays.

    python -m robustness.soak.run_soak [--seconds N] [--threads N] [--seed N]

First each call runs some hundred times on its own: the memory from malloc must not grow. Then threads call
the ops of random cases eagerly, and now and then load one as a model, run it some times, a few of these
with a time limit that cancels the run, and delete it. Prints a line of JSON; the exit status is 1
where a result differed, and where memory grew, which of the threads a short run cannot tell ("leaks"
is null then).
"""

import contextlib
import ctypes
import gc
import json
import os
import sys
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import tf_rnn_ops  # noqa: E402
from robustness.problem import draw  # noqa: E402
from robustness.problem.calls import calls_of  # noqa: E402
from robustness.soak.model import Model  # noqa: E402
from support import calls  # noqa: E402
from support.command_line import parse_args  # noqa: E402

# Problems, and multiplications of one at most.
PROBLEMS, LARGEST = 60, 200_000
# One in how many choices is a model, how often it runs, and one in how many runs has a limit.
MODELS, RUNS, LIMITED = 100, 50, 100
LONGEST_MS = 8
SAMPLE_SECONDS = 4.0
# In bytes that malloc has given. TensorFlow itself leaks a rendezvous and a status of each run that is
# cancelled, some 310 bytes. Shorter runs tell nothing. Resident memory grows by more, as free memory
# is cut up.
ALLOWED_PER_CALL, ALLOWED_PER_CANCELLED, TELLING_CALLS = 4, 1000, 300_000
# The growth of a repeated call, in bytes. Memory that other threads of the process allocate meanwhile
# appears once, not in each attempt.
ALLOWED_ALONE, WARM_UP, ATTEMPTS = 32, 10, 3
ALONE = 300


def _resident_bytes():
    # Without what malloc keeps of freed memory, which grows for many minutes.
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class _Malloc(ctypes.Structure):
    """The C library's struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    ]  # fmt: skip


def in_use():
    """Bytes that malloc has given and not got back, by glibc 2.33 or later."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = _Malloc
    info = mallinfo()
    return info.uordblks + info.hblkhd


def leaking_calls(subjects, times):
    """{line: bytes of each call} for the calls that increase the memory in use, each measured on its own."""
    found = {}
    gc.freeze()
    for line, function, *_ in subjects:
        for _ in range(ATTEMPTS):
            grown = _growth_alone(function, times)
            if grown <= ALLOWED_ALONE:
                break
        else:
            found[line] = round(grown)
    gc.unfreeze()
    return found


def _growth_alone(function, times):
    """Bytes in use for each call."""
    for _ in range(WARM_UP):
        function()
    gc.collect()
    before = in_use()
    for _ in range(times):
        function()
    gc.collect()
    return (in_use() - before) / times


def _subjects(seed):
    """(line, function, model, bytes of the result) of every call of the problems."""
    found, ops = [], tf_rnn_ops.raw_ops
    for number in range(PROBLEMS):
        problem = draw.problem(seed, number, LARGEST).replace(type="float32")
        for call in calls_of(ops, problem):
            if calls.counts_calls(call):
                continue
            function = calls.prepared(ops, call)
            want = calls.result_bytes(function())
            found.append((f"{problem} # {call.op}", function, Model(ops, call), want))
    return found


class Rests:
    """Lets threads work, and all of them rest while memory is read: what they hold would hide a leak."""

    def __init__(self):
        self._changed, self._working, self._resting = threading.Condition(), 0, False

    @contextlib.contextmanager
    def work(self):
        with self._changed:
            self._changed.wait_for(lambda: not self._resting)
            self._working += 1
        try:
            yield
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def rest(self):
        with self._changed:
            self._resting = True
            self._changed.wait_for(lambda: not self._working)
        try:
            yield
        finally:
            with self._changed:
                self._resting = False
                self._changed.notify_all()


class Soak:
    def __init__(self, subjects, seed):
        self.subjects, self.seed = subjects, seed
        self.counts, self.wrong, self.cancelled, self.models = {}, [], [], []
        self.stop, self.rests = threading.Event(), Rests()

    def _check(self, subject, thread, run):
        line, _, _, want = subject
        try:
            if run() != want:
                self.wrong.append(line)
        except tf.errors.DeadlineExceededError:
            self.cancelled.append(True)
        except Exception as error:
            self.wrong.append(f"{line}: {error!r}")
        self.counts[thread] += 1

    def _serve(self, subject, thread, rng):
        """Loads the subject's model, runs it and deletes it."""
        model = subject[2]
        with model.load() as session:
            for _ in range(RUNS):
                if rng.integers(LIMITED) == 0:
                    limit = int(rng.integers(1, LONGEST_MS))
                    self._check(subject, thread, lambda: model.run_limited(session, limit))
                else:
                    self._check(subject, thread, lambda: model.run(session))
        self.models.append(True)

    def work(self, thread):
        rng = np.random.default_rng([self.seed, thread])
        self.counts[thread] = 0
        while not self.stop.is_set():
            subject = self.subjects[rng.integers(len(self.subjects))]
            with self.rests.work():
                if rng.integers(MODELS) == 0:
                    self._serve(subject, thread, rng)
                else:
                    self._check(subject, thread, lambda: calls.result_bytes(subject[1]()))

    def run(self, threads, seconds):
        """Returns samples of (calls so far, cancelled ones among them, bytes in use, resident bytes)."""
        workers = [threading.Thread(target=self.work, args=(k,)) for k in range(threads)]
        for worker in workers:
            worker.start()
        samples, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(SAMPLE_SECONDS)
            with self.rests.rest():
                gc.collect()
                calls_so_far = sum(self.counts.values())
                samples.append((calls_so_far, len(self.cancelled), in_use(), _resident_bytes()))
        self.stop.set()
        for worker in workers:
            worker.join()
        gc.collect()
        return samples


def growth(samples):
    """Bytes grown for each byte allowed, over the later half of the samples, by least squares."""
    calls_so_far, cancelled, used, _ = np.array(samples[len(samples) // 2 :], float).T
    allowed = ALLOWED_PER_CALL * calls_so_far + ALLOWED_PER_CANCELLED * cancelled
    if np.ptp(allowed) == 0:
        return 0.0
    return float(np.polyfit(allowed, used, 1)[0])


def leaks(samples):
    """Whether memory grew, or None after too few calls to tell."""
    return growth(samples) >= 1 if samples[-1][0] >= TELLING_CALLS else None


OPTIONS = {
    "seconds": (60.0, "the seconds of the calls from all threads"),
    "threads": (8, "the number of calling threads"),
    "seed": (0, "the seed of the models and calls"),
}


def main():
    args = parse_args("robustness.soak.run_soak", __doc__.splitlines()[0], OPTIONS)
    soak = Soak(_subjects(args.seed), args.seed)
    leaking = leaking_calls(soak.subjects, ALONE)
    samples = soak.run(args.threads, args.seconds)
    record = {
        "calls": sum(soak.counts.values()), "threads": args.threads, "seed": args.seed,
        "kinds": len(soak.subjects), "models": len(soak.models), "cancelled": len(soak.cancelled),
        "wrong": sorted(set(soak.wrong)), "leaking_alone": leaking,
        **{
            f"{what}_mb": [round(samples[k][n] / 2**20, 1) for k in (0, len(samples) // 2, -1)]
            for n, what in ((2, "used"), (3, "resident"))
        },
        "growth_of_allowed": round(growth(samples), 2),
        "leaks": leaks(samples),
    }  # fmt: skip
    print(json.dumps(record))
    return int(bool(soak.wrong or leaking or record["leaks"]))


if __name__ == "__main__":
    sys.exit(main())
