"""Prints the time of the kernels of one build divided by that of another.

Calls of two programs bench_kernels take turns of a few milliseconds, so that another load of the machine
meets both. The kernel tables of the builds may differ.
"""

import argparse
import pathlib
import statistics
import subprocess


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

    def turn(self):
        self.process.stdin.write("call\n")
        seconds = self.process.stdout.readline()
        if not seconds:
            raise SystemExit(f"{self.process.args} ended in the middle of a pass")
        return float(seconds)

    def end_pass(self):
        """Returns the name of the pass."""
        self.process.stdin.write("end\n")
        return self.line("| ").split("|")[4].strip()

    def close(self):
        self.process.communicate()
        if self.process.returncode:
            raise SystemExit(f"{self.process.args} ended with {self.process.returncode}")


def passes(old, new, turns):
    """Yields the name of each pass and the seconds of both programs in its turns."""
    while True:
        ready = [program.line("ready") for program in (old, new)]
        if None in ready:
            return
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
    low, middle, high = statistics.quantiles(ratios, n=4)
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
        for line in lines:
            shape = line.partition("#")[0].strip()
            if shape:
                yield shape


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
    options = ["--isa", args.isa, "--threads", str(args.threads)]
    # new / old: the median of the pairs and its quartiles; and the ratio of the smallest times.
    print("| shape | pass | new ms | new / old | quartiles | smallest new / old |")
    print("| --- | --- | --- | --- | --- | --- |")
    for shape in shapes_of(args.shapes):
        programs = [Program(path, options, shape, args.cpu) for path in (args.old, args.new)]
        for name, old, new in passes(*programs, args.turns):
            report(shape, name, old, new)
        for program in programs:
            program.close()


if __name__ == "__main__":
    main()
