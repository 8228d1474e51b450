"""The time of a call with fewer threads than CPUs, with as many threads as CPUs, and with more.

    python -m benchmarks.threads [SHAPES ...] [--threads 1 4 16] [--output FILE]

There are two settings. "idle": all CPUs of this machine, with one thread for each CPU, 8 and 32 threads,
or with the numbers of --threads. "quota": a control group with the time of one CPU, as in a container,
with 1 and 16 threads. It is omitted with --threads, and if no group can be made. Each pair of a library
and a number of threads runs in its own process, and all pairs of a setting alternate. A ratio is the time
divided by the time of the same library with the first number of threads.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import tempfile
import time

from benchmarks import machine, peers, problems
from benchmarks.client import Worker, WorkerError
from benchmarks.quota import cpu_quota
from benchmarks.run import shapes_path

PEERS = ("tf_rnn_ops", "oneDNN", "PyTorch", "ONNX Runtime")
TURN_SECONDS = 0.1
# A control group that has used its time gets no time until its next period, of 0.1 s.
REST_SECONDS = 0.2


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.threads --threads 1 2 4 --rounds 3",
    )
    parser.add_argument(
        "shapes",
        nargs="*",
        default=["threads"],
        help="files of shapes, or names in benchmarks/shapes (default: threads)",
    )
    parser.add_argument(
        "--peers",
        nargs="*",
        default=list(PEERS),
        help=f"implementations to time (default: {', '.join(PEERS)})",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="rounds, each with a turn of every implementation (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        nargs="*",
        help="numbers of threads to compare (default: as many as CPUs, 8 and 32)",
    )
    parser.add_argument(
        "--rest",
        type=float,
        default=REST_SECONDS,
        help="pause between turns, in seconds (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("bench_output/threads.json"),
        help="JSON file to write (default: %(default)s)",
    )
    args = parser.parse_args(argv)
    unknown = set(args.peers) - set(peers.ALL)
    if unknown:
        parser.error(f"unknown libraries {sorted(unknown)}; known: {list(peers.ALL)}")
    return args


@dataclasses.dataclass
class Runner:
    """A library with a number of threads."""

    peer: str
    threads: int
    worker: Worker
    seconds: list


def start(names, counts, prefix):
    """A runner for each present library and each number of threads."""
    runners = []
    for name in names:
        for threads in counts:
            try:
                worker = Worker(name, peers.ALL[name], threads, prefix=prefix)
            except WorkerError as error:
                print(f"  absent: {name}: {error}", flush=True)
                break
            runners.append(Runner(name, threads, worker, []))
    return runners


def measure(runners, problem, training, args, folder):
    """The seconds of each call of each runner that can run the problem."""
    ready = []
    for runner in runners:
        runner.seconds = []
        try:
            runner.worker.prepare(dataclasses.asdict(problem), training, folder / "result.npz")
            ready.append(runner)
        except WorkerError as error:
            print(f"  omitted: {runner.peer}: {error}", flush=True)
    calls = {}
    for runner in ready:
        median = statistics.median(turn(runner, 3, args.rest))
        calls[id(runner)] = min(200, max(1, round(TURN_SECONDS / median)))
    for _ in range(args.rounds):
        for runner in ready:
            runner.seconds += turn(runner, calls[id(runner)], args.rest)
    return ready


def turn(runner, calls, rest):
    """The seconds of each of `calls` calls, after the threads of the previous turn sleep."""
    time.sleep(rest)
    return runner.worker.time(calls)


def row_of(runner, base):
    """The published results of a runner: milliseconds, and the ratio to `base`."""
    ordered = sorted(runner.seconds)
    median = statistics.median(ordered)
    return {
        "peer": runner.peer,
        "threads": runner.threads,
        "median_ms": median * 1e3,
        "p95_ms": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))] * 1e3,
        "ratio": median / statistics.median(base.seconds),
    }


def line(setting, problem, mode, row):
    return (
        f"| {setting} | {problem} | {mode} | {row['peer']} | {row['threads']} | "
        f"{row['median_ms']:.3g} | {row['p95_ms']:.3g} | {row['ratio']:.2f} |"
    )


def write(output, results, lines):
    """Writes the results. It is called after each row, so that an interrupted run keeps its results."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(results, indent=1))
    output.with_suffix(".md").write_text("\n".join(lines) + "\n")


HEAD = (
    "| setting | problem | mode | library | threads | median ms | 95 % ms | over fewest threads |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)


def main(argv=None):
    args = parse_args(argv)
    todo = [p for name in args.shapes for p in problems.read(shapes_path(name))]
    cpus = len(os.sched_getaffinity(0))
    results = {"machine": machine.describe(), "rows": []}
    lines = [HEAD]
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder, cpu_quota(1) as one_cpu:
        settings = {"idle": (args.threads or [cpus, 8, 32], [])}
        if not args.threads and one_cpu is None:
            print("no control group can be made here: the quota is left out")
        elif not args.threads:
            settings["quota of 1 CPU"] = ([1, 16], one_cpu)
        for setting, (counts, prefix) in settings.items():
            runners = start(args.peers, counts, prefix)
            try:
                for problem in todo:
                    for training in (False, True):
                        mode = "training" if training else "inference"
                        for runner in measure(
                            runners, problem, training, args, pathlib.Path(folder)
                        ):
                            base = next(r for r in runners if r.peer == runner.peer and r.seconds)
                            row = row_of(runner, base)
                            results["rows"].append(
                                {"setting": setting, "problem": problem.name, "mode": mode, **row}
                            )
                            lines.append(line(setting, problem.name, mode, row))
                            print(lines[-1], flush=True)
                            write(args.output, results, lines)
            finally:
                for runner in runners:
                    runner.worker.close()


if __name__ == "__main__":
    main()
