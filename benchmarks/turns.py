"""Compares the times of the kernels of two trees, whose calls take turns.

OLD and NEW are the programs //benchmarks/kernels:bench_kernels of both trees. The kernel tables may differ.
A tree that is older than the option --turns needs this tree's bench_kernels.cc, adapted to its kernel
table. A turn is one call that is not timed, and calls for about two milliseconds, at least one, so another
load of the machine meets both programs.
"""

import argparse
import pathlib
import statistics
import subprocess

from benchmarks import problems


class Program:
    """A running bench_kernels for one shape."""

    def __init__(self, path, options, shape, cpu):
        command = [str(path), "--turns", "stdin", *options, shape]
        if cpu is not None:
            command = ["taskset", "-c", str(cpu), *command]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def line(self, begin):
        """The next line of output that begins so; None at the end."""
        return next((line for line in self.process.stdout if line.startswith(begin)), None)

    def answer(self, command, begin=""):
        """The next line that begins so, after a command."""
        try:
            self.process.stdin.write(command + "\n")
            line = self.line(begin)
        except BrokenPipeError:
            line = None
        if line is None:
            raise SystemExit(f"{self.process.args} ended in the middle of a pass")
        return line

    def turn(self):
        return float(self.answer("call"))

    def end_pass(self):
        """Returns the name of the pass."""
        return self.answer("end", "| ").split("|")[4].strip()

    def close(self):
        self.process.communicate()
        if self.process.returncode:
            raise SystemExit(f"{self.process.args} ended with {self.process.returncode}")


def passes(old, new, turns):
    """Yields the name of each pass and the seconds of both programs in its turns."""
    while True:
        ready = [program.line("ready") is not None for program in (old, new)]
        if not any(ready):
            return
        if not all(ready):
            raise SystemExit("one of the programs measured fewer passes than the other")
        for program in (old, new):
            program.turn()  # finds the number of calls of a turn
        seconds = {old: [], new: []}
        for k in range(turns):
            for program in (old, new) if k % 2 else (new, old):
                seconds[program].append(program.turn())
        names = {program.end_pass() for program in (old, new)}
        if len(names) != 1:
            raise SystemExit(f"the programs measured different passes: {names}")
        yield names.pop(), seconds[old], seconds[new]


def report(shape, name, old, new):
    ratios = [b / a for a, b in zip(old, new)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    smallest = min(new) / min(old)
    print(
        f"| {shape} | {name} | {min(new) * 1e3:.4g} | {middle:.3f} | {low:.3f} to {high:.3f} "
        f"| {smallest:.3f} |",
        flush=True,
    )


def shapes_of(arguments):
    """The shapes in files, or the arguments themselves."""
    for argument in arguments:
        path = pathlib.Path(argument)
        lines = path.read_text().splitlines() if path.is_file() else [argument]
        shapes = (line.partition("#")[0].strip() for line in lines)
        yield from (shape for line in shapes if line for shape in problems.expand(line))


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="Example: python -m benchmarks.turns ../old/bazel-bin/benchmarks/kernels/bench_kernels "
        'bazel-bin/benchmarks/kernels/bench_kernels --isa avx2 "gru 500 8 64 128"',
    )
    parser.add_argument("old", help="bench_kernels of the older tree")
    parser.add_argument("new", help="bench_kernels of the newer tree")
    parser.add_argument("shapes", nargs="+", help="files of shapes, or shapes")
    parser.add_argument("--isa", required=True, help="baseline, avx2 or avx512")
    parser.add_argument("--threads", type=int, default=1, help="number of threads (default: 1)")
    parser.add_argument("--turns", type=int, default=30, help="turns of each pass (default: 30)")
    parser.add_argument("--cpu", type=int, help="the only CPU to use (default: any)")
    args = parser.parse_args(argv)
    if args.turns < 2:
        parser.error(f"--turns must be at least 2: got {args.turns}")
    if args.cpu is not None and args.threads > 1:
        parser.error(f"--cpu is for one thread: got --threads {args.threads}")
    options = ["--isa", args.isa, "--threads", str(args.threads)]
    # new / old: the median of the pairs and its quartiles; and the ratio of the smallest times.
    print("| shape | pass | new ms | new / old | quartiles | smallest new / old |")
    print("| --- | --- | --- | --- | --- | --- |")
    for shape in shapes_of(args.shapes):
        programs = [Program(path, options, shape, args.cpu) for path in (args.old, args.new)]
        count = 0
        for name, old, new in passes(*programs, args.turns):
            report(shape, name, old, new)
            count += 1
        for program in programs:
            program.close()
        if count == 0:
            raise SystemExit(f"the programs have no kernels of --isa {args.isa} for this machine")


if __name__ == "__main__":
    main()
