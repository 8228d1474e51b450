"""Runs one library in its own process. Reads commands as JSON lines and answers in JSON lines.

Commands: {"do": "prepare", "problem": {...}, "training": bool, "save": path}, {"do": "time",
"runs": n} and {"do": "memory", "problem": {...}, "training": bool}. The threads are set once, on the command
line, because most libraries read them at start.
"""

import argparse
import dataclasses
import importlib
import json
import os
import statistics
import sys
import time

from benchmarks import loop, memory, peers, problems


def _set_environment(threads, peer):
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["TF_NUM_INTRAOP_THREADS"] = str(threads)
    if peer.algorithm:
        os.environ["TF_RNN_OPS_GPU_ALGO"] = peer.algorithm
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")


class Library:
    """A library of the table in benchmarks.peers, and the answers to commands."""

    def __init__(self, name, threads, device, clock):
        self.dtype = peers.ALL[name].dtype
        self.device, self.clock = device, clock
        _set_environment(threads, peers.ALL[name])
        module, variant = peers.ALL[name][:2]
        make = importlib.import_module(f"benchmarks.peers.{module}").make
        self.peer = make(variant, threads, *([device] if device else []))

    def problem(self, fields):
        """The problem that the library runs; raises Unsupported."""
        problem = problems.Problem(**fields)
        if problem.cell not in getattr(self.peer, "cells", problems.CELLS):
            raise peers.Unsupported("no such cell")
        if self.dtype:
            if problems.BYTES[problem.dtype] >= problems.BYTES[self.dtype]:
                raise peers.Unsupported("only for problems of a narrower type")
            return dataclasses.replace(problem, dtype=self.dtype)
        if problem.dtype == "int8" and not getattr(self.peer, "int8", False):
            raise peers.Unsupported("floating-point types only")
        return problem

    def prepare(self, problem, training, save):
        import numpy as np

        problem = self.problem(problem)
        self.peer.prepare(problem, *problems.make_data(problem), training)
        self.peer.run()
        result = self.peer.result()
        np.savez(save, **{k: np.asarray(v, np.float32) for k, v in result.items()})
        return {}

    def time(self, runs):
        return {"seconds": self.seconds(runs)}

    def seconds(self, runs):
        """The seconds of a run."""
        if self.device:  # as in a training loop: one wait after many runs
            self.peer.run()
            self.peer.wait()
            start = time.perf_counter()
            for _ in range(runs):
                self.peer.start()
            self.peer.wait()
            return (time.perf_counter() - start) / runs
        if self.clock == "cpu":
            return loop.seconds_of(self.peer.run, time.process_time)(runs)
        self.peer.run()
        one = loop.seconds_of(self.peer.run, warm=False)
        return statistics.median(one(1) for _ in range(runs))

    def memory(self, problem, training):
        return {"memory": memory.measure(self.peer, self.problem(problem), training)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.worker tf_rnn_ops --threads 1 </dev/null",
    )
    parser.add_argument("library", choices=peers.ALL, metavar="LIBRARY", help="library to time")
    parser.add_argument("--threads", type=int, required=True, help="threads within an op")
    parser.add_argument("--device", default="", help="TensorFlow's name of a device")
    parser.add_argument("--clock", default="wall", help="as in benchmarks.run")
    args = parser.parse_args()
    # Libraries may print to stdout, so the protocol uses a copy of the original stdout.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")

    def fail(error):
        answer(ok=False, error=f"{type(error).__name__}: {error}".splitlines()[0])

    try:
        library = Library(args.library, args.threads, args.device, args.clock)
    except Exception as error:  # an absent or broken library is reported and is not fatal
        fail(error)
        return
    answer(ok=True, version=library.peer.version)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer(ok=True, **getattr(library, command.pop("do"))(**command))
        except Exception as error:
            fail(error)


if __name__ == "__main__":
    main()
