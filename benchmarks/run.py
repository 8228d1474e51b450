"""Times tf_rnn_ops next to other libraries, and reports ratios.

Every library runs in its own process. For each problem the results are compared first. Then the libraries
alternate, round by round, so that a disturbance affects all of them. A problem whose measurements spread
too far gets more rounds. Each turn begins with a run that is not timed, because the caches contain the
data of another process. Times include the packing of weights and transposes that a user needs.

`step` times calls of a few steps that carry the state, on one thread, in CPU time. `gpu` and `gpu_layers` time
a device as a training loop does: many calls and one synchronisation at the end. `costs` compares layouts and
lengths. Their libraries and other arguments are in benchmarks.peers.DEFAULTS. `gpu --device CPU:0` is only a test
of this program.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks import float64, loop, machine, memory, peers, problems, report, rtneural, settings
from benchmarks.client import ROOT, Worker, WorkerError

# A problem is measured again if the relative distance between the quartiles is larger.
SPREAD = 0.15
# Largest difference between libraries, relative to the largest value, that counts as agreement. For
# bfloat16 it is about eight times its eps, because some libraries round states at every step. For int8 it
# is about eight times the step of 7 bits, which some libraries have for activations.
TOLERANCE = {"float32": 2e-4, "bfloat16": 6e-2, "int8": 0.12}
# On a GPU products in TF32, which the frameworks allow, round their operands to 10 bits, in bfloat16 to 7.
GPU_TOLERANCE = TOLERANCE | {"float32": 3e-2, "bfloat16": 2e-1}


def parse_args(argv):
    parser = _make_parser()
    first = parser.parse_args(argv)
    parser.set_defaults(**peers.DEFAULTS.get(first.like or first.shapes[0], peers.DEFAULTS[""]))
    args = parser.parse_args(argv)
    unknown = set(args.peers) - set(peers.ALL)
    if unknown:
        parser.error(f"unknown libraries {sorted(unknown)}; known: {list(peers.ALL)}")
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not 0 <= args.busy <= len(os.sched_getaffinity(0)):
        parser.error("--busy must be at most the number of cores")
    if args.memory and args.device:
        parser.error("--memory is for the CPU")
    try:
        args.problems = [p for name in args.shapes for p in problems.read(name)]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return args


def _make_parser():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.run lstm gru --mode inference --threads 1 2",
    )
    parser.set_defaults(carried=False)
    add = parser.add_argument
    add(
        "shapes",
        nargs="*",
        default=["lstm"],
        help="files of shapes, names in benchmarks/shapes, or shapes in quotes (default: lstm)",
    )
    add(
        "--like",
        choices=[name for name in peers.DEFAULTS if name],
        help="use the libraries and settings of that file of shapes (default: the first of the shapes)",
    )
    add(
        "--mode",
        choices=["inference", "training", "both"],
        default="both",
        help="what to time (default: both)",
    )
    add(
        "--threads",
        type=int,
        nargs="*",
        default=[len(os.sched_getaffinity(0))],
        help="numbers of threads, each measured (default: the usable cores)",
    )
    add("--peers", nargs="*", metavar="NAME", help=f"some of {', '.join(peers.ALL)}")
    add("--base", metavar="NAME", help="also print times as multiples of that library's")
    add(
        "--rounds",
        type=int,
        default=7,
        help="rounds, each with a turn of every library; more where times vary (default: %(default)s)",
    )
    add("--clock", choices=["wall", "cpu"], default="wall", help="the time (default: wall)")
    add("--device", default="", help="TensorFlow's name of the device (default: the CPU)")
    add(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("bench_output"),
        help="folder for the results (default: %(default)s)",
    )
    add(
        "--isa",
        choices=["avx2"],
        help="hide from every library what the CPU has beyond that (default: nothing)",
    )
    add(
        "--busy",
        type=int,
        default=0,
        metavar="N",
        help="measure each shape also with N cores taken by other processes (default: %(default)s)",
    )
    add("--memory", action="store_true", help="also measure the peak memory of each library")
    add(
        "--rtneural",
        type=pathlib.Path,
        metavar="CHECKOUT",
        help="only compare calls of a stepper from C with RTNeural, see benchmarks/rtneural.py",
    )
    add(
        "--xsimd",
        type=pathlib.Path,
        metavar="CHECKOUT",
        help="xsimd for RTNeural (default: modules/xsimd in its checkout)",
    )
    return parser


def start_workers(args, threads):
    """The workers of the libraries that are present, and {absent library: reason}."""
    workers, absent = [], {}
    for name in args.peers:
        try:
            workers.append(Worker(name, threads, args.device, args.clock))
        except WorkerError as error:
            absent[name] = str(error)
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


def exact(problem, carried):
    """The results in float64, of one call or of two that carry the state; None where there are none."""
    if problem.cell not in problems.CELLS:
        return None
    x, _, weights = problems.make_data(problem)
    if not carried:
        return {"y": float64.run(problem, x, weights)} if problem.dtype == "int8" else None
    twice = dataclasses.replace(problem, T=2 * problem.T)
    y = float64.run(twice, np.concatenate([x, x]), weights)
    return {"first": y[: problem.T], "second": y[problem.T :]}


def prepare(workers, problem, training, args, folder):
    """Compares all results with float64 if there are such results, or with one of them.

    Among the results the reference is our float32 if the row has it, or else the first.

    Returns:
        The workers that can run the problem and agree, {other worker: reason}, and the largest relative
        difference of each.
    """
    ready, left_out, differences = [], {}, {}
    reference = exact(problem, args.carried)
    tolerance = (GPU_TOLERANCE if args.device else TOLERANCE)[problem.dtype]
    for i, worker in enumerate(sorted(workers, key=lambda w: not report.is_our_float32(w.name))):
        save = folder / f"{i}.npz"
        try:
            worker.prepare(dataclasses.asdict(problem), training, save)
            with np.load(save) as results:
                results = dict(results)
            if reference is None:
                reference = results
            else:
                differences[worker.name] = compare(reference, results, tolerance)
            ready.append(worker)
        except WorkerError as error:
            left_out[worker.name] = str(error)
    ready.sort(key=workers.index)
    return ready, left_out, differences


def measure(workers, rounds, attempts=3):
    """The seconds per run of each worker in each turn."""
    times = {worker.name: worker.time for worker in workers}
    return loop.take_turns(times, rounds, attempts=attempts, largest_spread=SPREAD)


def measure_memory(workers, problem, training, threads):
    """The bytes of each worker's library, in a new process for each."""
    results = {}
    for worker in workers:
        fresh = Worker(worker.name, threads)
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
    print(f"{count} threads, GEMM peak {float(rate):.0f} GFLOP/s ({by})", flush=True)
    return float(rate)


def run_problem(workers, problem, training, args, threads, gemm_peak, folder):
    ready, left_out, differences = prepare(workers, problem, training, args, folder)
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
    args = parse_args(argv)
    settings.restrict(args.isa)
    if args.rtneural:
        return rtneural.compare(args.rtneural, args.xsimd)
    modes = {"both": [False, True], "inference": [False], "training": [True]}[args.mode]
    args.output.mkdir(parents=True, exist_ok=True)
    results = {
        "machine": machine.describe(),
        "command": argv,
        "busy": args.busy,
        "base": args.base,
        "rounds": args.rounds,
        "versions": {},
        "absent": {},
        "rows": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        for threads in args.threads:
            gemm_peak = None if args.device else peak(threads)
            workers, results["absent"] = start_workers(args, threads)
            results["versions"].update({w.name: w.version for w in workers})
            print("\n".join(report.head(w.name for w in workers)), flush=True)
            try:
                for problem in args.problems:
                    for training in filter(problem.has_mode, modes):
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
                        print(report.line(row, [w.name for w in workers], args.base), flush=True)
                        # After each row, so that an interrupted run has the rows so far.
                        (args.output / "results.json").write_text(json.dumps(results, indent=1))
                        (args.output / "results.md").write_text(report.markdown(results))
            finally:
                for worker in workers:
                    worker.close()
    print("\n".join([*report.absences(results), report.summary(results["rows"])]))
    print(f"written: {args.output}/results.json, results.md")
    if not any(report.own(row)[0] for row in results["rows"]):
        sys.exit("tf_rnn_ops ran no problem")


if __name__ == "__main__":
    main()
