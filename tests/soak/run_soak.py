"""Calls of changing shapes from many threads: the same bits at every call, and memory that stays.

    python -m soak.run_soak [--seconds N] [--threads N] [--seed N] [--no-functions]

Threads call the ops of drawn problems, unless --no-functions one in fifty times through a function that
is traced, called and dropped, as often through one that is cancelled while it runs, and sometimes
through a SavedModel that is loaded, called and deleted. Prints a line of JSON; the exit status is 1
where a result differed, and where memory grew in a long run without functions, whose growth is
TensorFlow's own.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

# TensorFlow has no public name for it; a server cancels a request in this way.
from tensorflow.python.eager import cancellation  # noqa: E402

import tf_rnn_ops  # noqa: E402
from problem import draw  # noqa: E402
from problem.calls import calls_of  # noqa: E402
from problem.grammar import BLOCK  # noqa: E402
from support import calls  # noqa: E402

# Problems, and multiplications of one at most.
PROBLEMS, LARGEST = 60, 200_000
# One call in so many through a function of its own, a cancelled one and a model.
TRACED, CANCELLED, LOADED = 50, 50, 1000
# How often a function that is cancelled repeats its call, and how long it has at most.
REPEATS, LONGEST_SECONDS = 20, 0.004
SAMPLE_SECONDS = 1.0
# Runs without a leak grew by 0.8 and 0.9; shorter ones tell nothing.
LEAK_BYTES_PER_CALL, TELLING_CALLS = 4, 300_000


def _resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _subjects(seed, block=None):
    """(line, function, bytes of its result) of every call of the problems; see --block."""
    found = []
    ops = tf.raw_ops if block == "tensorflow" else tf_rnn_ops.raw_ops
    for number in range(PROBLEMS):
        problem = draw.problem(seed, number, LARGEST).replace(type="float32")
        if block and problem.op != BLOCK:
            continue
        for call in calls_of(tf_rnn_ops.raw_ops, problem):
            if calls.counts_calls(call):
                continue
            function = calls.prepared(ops, call)
            found.append((f"{problem} # {call.op}", function, calls.result_bytes(function())))
    return found


def _cancelled(function, seconds):
    """The bytes of the result of a function that is cancelled after so long.

    TensorFlow's manager is one for all threads: others may find their functions cancelled too.
    """

    def several():
        result = function()
        for _ in range(REPEATS):
            with tf.control_dependencies(tf.nest.flatten(result)):
                result = function()
        return result

    manager = cancellation.CancellationManager()
    traced = tf.function(several, autograph=False).get_concrete_function()
    run = manager.get_cancelable_function(traced)
    timer = threading.Timer(seconds, manager.start_cancel)
    timer.start()
    try:
        return calls.result_bytes(run())
    finally:
        timer.join()


def _loaded(function):
    """The bytes of the result of a function that is saved, loaded and deleted."""
    with tempfile.TemporaryDirectory() as folder:
        module = tf.Module()
        module.run = tf.function(function, autograph=False, input_signature=[])
        tf.saved_model.save(module, folder)
        return calls.result_bytes(tf.saved_model.load(folder).run())


class Soak:
    def __init__(self, subjects, seed, functions=True):
        self.subjects, self.seed, self.functions = subjects, seed, functions
        self.counts, self.wrong, self.cancelled, self.loaded = {}, [], [], []
        self.stop = threading.Event()

    def _call(self, function, rng):
        """The bytes of the result."""
        if self.functions:
            if rng.integers(TRACED) == 0:
                return calls.result_bytes(tf.function(function, autograph=False)())
            if rng.integers(CANCELLED) == 0:
                return _cancelled(function, LONGEST_SECONDS * rng.random())
            if rng.integers(LOADED) == 0:
                got = _loaded(function)
                self.loaded.append(True)
                return got
        return calls.result_bytes(function())

    def work(self, thread):
        rng = np.random.default_rng([self.seed, thread])
        self.counts[thread] = 0
        while not self.stop.is_set():
            line, function, want = self.subjects[rng.integers(len(self.subjects))]
            try:
                if self._call(function, rng) != want:
                    self.wrong.append(line)
            except tf.errors.CancelledError:
                self.cancelled.append(True)
            except Exception as error:
                self.wrong.append(f"{line}: {error!r}")
            self.counts[thread] += 1

    def run(self, threads, seconds):
        """Returns samples of (calls so far, resident bytes)."""
        workers = [threading.Thread(target=self.work, args=(k,)) for k in range(threads)]
        for worker in workers:
            worker.start()
        samples, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(SAMPLE_SECONDS)
            samples.append((sum(self.counts.values()), _resident_bytes()))
        self.stop.set()
        for worker in workers:
            worker.join()
        gc.collect()
        return samples


def growth(samples):
    """Bytes for each 1000 calls over the later half of the samples, by least squares."""
    later = np.array(samples[len(samples) // 2 :], float)
    if len(later) < 2 or np.ptp(later[:, 0]) == 0:
        return 0.0
    return float(1000 * np.polyfit(later[:, 0], later[:, 1], 1)[0])


def leaks(samples, functions):
    return (
        not functions
        and samples[-1][0] >= TELLING_CALLS
        and growth(samples) >= 1000 * LEAK_BYTES_PER_CALL
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-functions", action="store_true", help="call the ops eagerly alone")
    parser.add_argument(
        "--block", choices=["ours", "tensorflow"],
        help="call BlockLSTMV2 alone, our op or TensorFlow's, to tell whose memory grows",
    )  # fmt: skip
    args = parser.parse_args()
    tf.get_logger().setLevel("ERROR")  # it warns of functions that are traced and dropped
    soak = Soak(_subjects(args.seed, args.block), args.seed, not args.no_functions)
    samples = soak.run(args.threads, args.seconds)
    record = {
        "calls": sum(soak.counts.values()), "threads": args.threads, "seed": args.seed,
        "kinds": len(soak.subjects), "functions": soak.functions,
        "cancelled": sum(soak.cancelled), "models": len(soak.loaded), "wrong": sorted(set(soak.wrong)),
        "resident_mb": [round(samples[k][1] / 2**20) for k in (0, len(samples) // 2, -1)],
        "growth_kb_per_1000_calls": round(growth(samples) / 1024, 1),
        "leaks": leaks(samples, soak.functions),
    }  # fmt: skip
    print(json.dumps(record))
    return int(bool(soak.wrong) or record["leaks"])


if __name__ == "__main__":
    sys.exit(main())
