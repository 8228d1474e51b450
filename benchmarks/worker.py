"""Runs one library in its own process. Reads commands as JSON lines and answers in JSON lines.

Commands: {"do": "prepare", "problem": {...}, "training": bool, "save": path}, {"do": "time",
"runs": n}, {"do": "memory", "problem": {...}, "training": bool} and {"do": "quit"}. The threads are
set once, on the command line, because most libraries read them at start.
"""

import argparse
import dataclasses
import importlib
import json
import os
import sys
import time


def _limit_threads(threads):
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["TF_NUM_INTRAOP_THREADS"] = str(threads)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")


def read_problem(fields, peer, spec):
    """The problem that the library runs; raises Unsupported."""
    from benchmarks import peers, problems

    problem = problems.Problem(**fields)
    library, _, dtype = spec.partition("@")
    if problem.cell in problems.LAYER_CELLS and not library.startswith("keras_layers"):
        raise peers.Unsupported("no such cell")
    if dtype:
        if problems.BYTES[problem.dtype] >= problems.BYTES[dtype]:
            raise peers.Unsupported("only for problems of a narrower type")
        return dataclasses.replace(problem, dtype=dtype)
    if problem.dtype == "int8" and not getattr(peer, "int8", False):
        raise peers.Unsupported("floating-point types only")
    return problem


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog='Example: echo \'{"do": "quit"}\' | python -m benchmarks.worker tf_rnn_ops --threads 1',
    )
    parser.add_argument("peer", help="implementation to time")
    parser.add_argument("--threads", type=int, required=True, help="threads within an op")
    args = parser.parse_args()
    _limit_threads(args.threads)
    # Libraries may print to stdout, so the protocol uses a copy of the original stdout.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    import numpy as np

    from benchmarks import memory, problems

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")

    try:
        module, _, variant = args.peer.partition("@")[0].partition(":")
        peer = importlib.import_module(f"benchmarks.peers.{module}").make(variant, args.threads)
    except Exception as error:  # an absent or broken library is reported and is not fatal
        answer(ok=False, error=f"{type(error).__name__}: {error}".splitlines()[0])
        return
    answer(ok=True, version=peer.version)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if command["do"] == "quit":
                break
            if command["do"] == "prepare":
                problem = read_problem(command["problem"], peer, args.peer)
                peer.prepare(problem, *problems.make_data(problem), command["training"])
                peer.run()
                result = peer.result()
                np.savez(
                    command["save"], **{k: np.asarray(v, np.float32) for k, v in result.items()}
                )
                answer(ok=True, problem=dataclasses.asdict(problem))
            elif command["do"] == "time":
                peer.run()  # not timed: the caches contain the data of the previous process
                seconds = []
                for _ in range(command["runs"]):
                    start = time.perf_counter()
                    peer.run()
                    seconds.append(time.perf_counter() - start)
                answer(ok=True, seconds=seconds)
            elif command["do"] == "memory":
                problem = read_problem(command["problem"], peer, args.peer)
                answer(ok=True, memory=memory.measure(peer, problem, command["training"]))
        except Exception as error:
            answer(ok=False, error=f"{type(error).__name__}: {error}".splitlines()[0])


if __name__ == "__main__":
    main()
