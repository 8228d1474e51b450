"""Times tf_rnn_ops next to other libraries, and reports ratios.

Every library runs in its own process. For each problem the results are compared first. Then the libraries
alternate, round by round, so that a disturbance affects all of them. A problem whose measurements spread
too far gets more rounds. Each turn begins with a run that is not timed, because the caches contain the
data of another process. Times include the packing of weights and transposes that a user needs.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks import float64, machine, memory, peers, plots, problems, report, settings
from benchmarks.client import ROOT, Worker, WorkerError

SHAPES = pathlib.Path(__file__).resolve().parent / "shapes"
# A turn lasts about this long, so that clocks and caches settle.
TURN_SECONDS = 0.06
# A problem is measured again if the relative distance between the quartiles is larger.
SPREAD = 0.15
# Largest difference between libraries, relative to the largest value, that counts as agreement. For
# bfloat16 it is about eight times its eps, because some libraries round states at every step. For int8 it
# is about eight times the step of 7 bits, which some libraries have for activations.
TOLERANCE = {"float32": 2e-4, "bfloat16": 6e-2, "int8": 0.12}


def parse_args(argv):
    parser = _make_parser()
    args = parser.parse_args(argv)
    unknown = set(args.peers) - set(peers.ALL)
    if unknown:
        parser.error(f"unknown libraries {sorted(unknown)}; known: {list(peers.ALL)}")
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not 0 <= args.busy <= len(os.sched_getaffinity(0)):
        parser.error("--busy must be at most the number of cores")
    return args


def _make_parser():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.run lstm gru --mode inference --threads 1 2",
    )
    parser.add_argument(
        "shapes",
        nargs="*",
        default=["lstm"],
        help="files of shapes, or names in benchmarks/shapes (default: lstm); first 'step': python -m benchmarks.step "
        "with the other arguments",
    )
    parser.add_argument(
        "--mode",
        choices=["inference", "training", "both"],
        default="both",
        help="what to time (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        nargs="*",
        default=[len(os.sched_getaffinity(0))],
        help="numbers of threads, each measured (default: the usable cores)",
    )
    parser.add_argument(
        "--peers",
        nargs="*",
        default=list(peers.ALL),
        help=f"implementations to time (default: all of {', '.join(peers.ALL)})",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=7,
        help="rounds, each with a turn of every implementation; more where times vary (default: %(default)s)",
    )
    _add_reports(parser)
    return parser


def _add_reports(parser):
    """Adds the arguments that are not about what to time."""
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("bench_output"),
        help="folder for the results (default: %(default)s)",
    )
    parser.add_argument("--no-plots", action="store_true", help="write no pictures")
    parser.add_argument(
        "--isa",
        choices=["avx2"],
        help="hide from every library what the CPU has beyond that (default: nothing)",
    )
    parser.add_argument(
        "--busy",
        type=int,
        default=0,
        metavar="N",
        help="measure each shape also with N cores taken by other processes (default: %(default)s)",
    )
    parser.add_argument(
        "--memory",
        action="store_true",
        help="also measure the peak memory, in a process for each implementation",
    )


def shapes_path(name):
    path = pathlib.Path(name)
    return path if path.exists() else SHAPES / f"{name}.txt"


def start_workers(names, threads):
    """The workers of the libraries that are present, and {absent library: reason}. Prints the reasons."""
    workers, absent = [], {}
    for name in names:
        try:
            workers.append(Worker(name, peers.ALL[name], threads))
        except WorkerError as error:
            absent[name] = str(error)
            print(f"  absent: {name}: {error}", flush=True)
    return workers, absent


def compare(reference, other, tolerance):
    """The largest relative difference of the results that both have. Raises WorkerError above the tolerance."""
    worst = 0.0
    for key in set(reference) & set(other):
        scale = max(1e-6, float(np.abs(reference[key]).max()))
        difference = np.abs(np.subtract(reference[key], other[key]))
        worst = max(worst, float(np.nan_to_num(difference, nan=np.inf).max()) / scale)
    if not worst <= tolerance:
        raise WorkerError(f"results differ by {worst:.1e} of the largest value")
    return worst


def prepare(workers, problem, training, folder):
    """Compares all results with one of them, or for int8 with float64.

    Among the results the reference is our float32 if the row has it, or else the first.

    Returns:
        The workers that can run the problem and agree, {other worker: reason}, and the largest relative
        difference of each.
    """
    ready, left_out, differences, reference = [], {}, {}, None
    if problem.dtype == "int8":
        x, _, weights = problems.make_data(problem)
        reference = {"y": float64.run(problem, x, weights)}
    for i, worker in enumerate(sorted(workers, key=lambda w: w.name not in report.FLOAT32)):
        save = folder / f"{i}.npz"
        try:
            worker.prepare(dataclasses.asdict(problem), training, save)
            with np.load(save) as results:
                results = dict(results)
            if reference is None:
                reference = results
            else:
                differences[worker.name] = compare(reference, results, TOLERANCE[problem.dtype])
            ready.append(worker)
        except WorkerError as error:
            left_out[worker.name] = str(error)
    ready.sort(key=workers.index)
    return ready, left_out, differences


def spread(seconds):
    if len(seconds) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(seconds, n=4)
    return (high - low) / middle


def measure(workers, rounds, attempts=3):
    """The seconds per run of each worker: one median for each round."""
    runs = {}
    for worker in workers:
        worker.time(2)
        runs[worker.name] = max(1, round(TURN_SECONDS / min(worker.time(2))))
    seconds = {worker.name: [] for worker in workers}
    for _ in range(attempts):
        for _ in range(rounds):
            for worker in workers:
                seconds[worker.name].append(statistics.median(worker.time(runs[worker.name])))
        if all(spread(s) <= SPREAD for s in seconds.values()):
            break
    return seconds


def measure_memory(workers, problem, training, threads):
    """The bytes of each worker's library, in a new process for each."""
    results = {}
    for worker in workers:
        fresh = Worker(worker.name, peers.ALL[worker.name], threads)
        try:
            results[worker.name] = fresh.memory(dataclasses.asdict(problem), training)
        except WorkerError as error:
            results[worker.name] = {"error": str(error)}
        finally:
            fresh.close()
    return results


def peak(threads):
    """GFLOP/s of the fastest library's matrix product, in a separate process."""
    count = str(threads)
    env = dict(os.environ, OPENBLAS_NUM_THREADS=count, OMP_NUM_THREADS=count, PYTHONPATH=str(ROOT))
    command = [sys.executable, "-m", "benchmarks.machine"]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    rate, by = done.stdout.split()
    print(f"  GEMM peak {float(rate):.0f} GFLOP/s ({by})", flush=True)
    return float(rate)


def run_problem(workers, problem, training, args, threads, gemm_peak, folder):
    ready, left_out, differences = prepare(workers, problem, training, folder)
    seconds = measure(ready, args.rounds) if ready else {}
    row = {
        "problem": dataclasses.asdict(problem),
        "name": problem.name,
        "mode": "training" if training else "inference",
        "threads": threads,
        "gflop": problem.flops(training) / 1e9,
        "gemm_peak": gemm_peak,
        "seconds": seconds,
        "left_out": left_out,
        "differences": differences,
        "data_bytes": memory.data_bytes(problem, training),
    }
    if args.busy and ready:
        with settings.busy_cores(args.busy):
            # The spread is a part of this result, so it does not cause more rounds.
            row["busy_seconds"] = measure(ready, args.rounds, attempts=1)
    if args.memory:
        row["memory"] = measure_memory(ready, problem, training, threads)
    return row


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["step"]:
        from benchmarks import step

        return step.main(argv[1:])
    args = parse_args(argv)
    settings.restrict(args.isa)
    todo = [p for name in args.shapes for p in problems.read(shapes_path(name))]
    modes = {"both": [False, True], "inference": [False], "training": [True]}[args.mode]
    args.output.mkdir(parents=True, exist_ok=True)
    results = {
        "machine": machine.describe(),
        "command": argv,
        "busy": args.busy,
        "rounds": args.rounds,
        "versions": {},
        "rows": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        for threads in args.threads:
            print(f"{threads} thread(s)", flush=True)
            gemm_peak = peak(threads)
            workers, absent = start_workers(args.peers, threads)
            results["versions"].update({w.name: w.version for w in workers})
            results["absent"] = absent
            try:
                for problem in todo:
                    for training in modes:
                        if not problem.has_mode(training):
                            continue
                        row = run_problem(
                            workers,
                            problem,
                            training,
                            args,
                            threads,
                            gemm_peak,
                            pathlib.Path(folder),
                        )
                        results["rows"].append(row)
                        print(report.line(row), flush=True)
                        (args.output / "results.json").write_text(json.dumps(results, indent=1))
            finally:
                for worker in workers:
                    worker.close()
    (args.output / "results.md").write_text(report.markdown(results))
    if not args.no_plots:
        plots.draw(results, args.output)
    print(
        f"written: {args.output}/results.json, results.md" + ("" if args.no_plots else " and plots")
    )


if __name__ == "__main__":
    main()
