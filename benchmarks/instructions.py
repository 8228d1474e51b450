"""Counts the instructions of kernel calls, and compares the counts with stored counts.

The program //benchmarks/kernels:bench_kernels runs one thread in valgrind's tool callgrind. valgrind hides
AVX-512 from programs, so the counts are of the baseline's and the AVX2 kernels on every CPU that has AVX2.
The only figure of the AVX-512 kernels is the size of their machine code.

benchmarks/instructions.txt has the counts of the last change that stored them.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

STORE = pathlib.Path(__file__).with_name("instructions.txt")
PROGRAM = pathlib.Path("bazel-bin/benchmarks/kernels/bench_kernels")
# A ratio above this limit is marked.
LIMIT = 1.02

# Shapes of bench_kernels and the passes to count. All sizes leave a remainder in tiles and vectors.
CALLS = [
    ("lstm 11 7 37 101", "forward"),
    ("lstm 11 7 37 101", "forward, training"),
    ("lstm 11 7 37 101", "backward"),
    ("gru 11 7 37 101", "forward"),
    ("gru 11 7 37 101", "backward"),
    ("gru 50 1 37 101", "forward, packed"),
    ("tanh 11 7 37 101", "forward, training"),
    ("relu 11 7 37 101", "forward"),
    ("lstm 11 7 37 101 bfloat16", "forward"),
    ("lstm 11 7 37 101 int8", "forward, packed"),
]
ISAS = ["baseline", "avx2"]
# The libraries of kernels whose size is measured.
LIBRARIES = ["avx2", "avx512"]
CODE = "machine code"


def output_of(command):
    """The standard output of a command that succeeds."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}.\n{done.stderr}")
    return done.stdout


def counts_of(program, shape, isa):
    """The instructions of one call of each pass: {pass: count}. Empty if the CPU lacks `isa`."""
    with tempfile.TemporaryDirectory() as folder:
        output = output_of(
            [
                *("valgrind", "--quiet"),
                "--tool=callgrind",
                f"--callgrind-out-file={folder}/out",
                "--toggle-collect=CountedCalls",
                "--dump-after=CountedCalls",
                *(str(program), "--calls", "1", "--threads", "1", "--isa", isa, shape),
            ]
        )
        passes = [
            line.split("|")[4].strip()
            for line in output.splitlines()
            if line.startswith(f"| {shape} |")
        ]
        counts = {}
        for number, name in enumerate(passes, 1):
            path = pathlib.Path(folder, f"out.{number}")
            if not path.is_file():
                raise SystemExit(f"callgrind found no function CountedCalls in {program}.")
            total = re.search(r"^totals: (\d+)$", path.read_text(), re.MULTILINE)
            counts[name] = int(total[1])
        return counts


def count_calls(program, jobs):
    """{(call, isa): instructions, or None if the CPU lacks the instruction set}."""
    runs = dict.fromkeys((shape, isa) for isa in ISAS for shape, _ in CALLS)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for run in runs:
            runs[run] = pool.submit(counts_of, program, *run)
    counts = {}
    for shape, name in CALLS:
        for isa in ISAS:
            passes = runs[shape, isa].result()
            counts[f"{shape}, {name}", isa] = passes[name] if passes else None
    return counts


def code_sizes(program):
    """{(CODE, isa): bytes of the section .text}."""
    sizes = {}
    for isa in LIBRARIES:
        library = program.parent / f"../../cc/cpu/_tf_rnn_ops_{isa}.so"
        text = re.search(r"^\.text +(\d+)", output_of(["size", "-A", str(library)]), re.MULTILINE)
        sizes[CODE, isa] = int(text[1])
    return sizes


def read_store(path):
    """Returns the version of the compiler and {(call, isa): count}; None and {} without a file."""
    if not path.is_file():
        return None, {}
    compiler, counts = None, {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        words = [word.strip() for word in line.split("|")]
        if len(words) == 2 and words[0] == "g++":
            compiler = words[1]
        elif len(words) == 3 and words[2].isdecimal() and int(words[2]) > 0:
            counts[words[0], words[1]] = int(words[2])
        else:
            raise ValueError(f"{path}:{number}: expected 'call | isa | count', but it is {line!r}.")
    if compiler is None:
        raise ValueError(f"{path} lacks the line 'g++ | VERSION'.")
    return compiler, counts


def write_store(path, compiler, counts):
    lines = [
        "# Written by python -m benchmarks.instructions --store: instructions of one call on one thread,",
        "# and bytes of machine code.",
        f"g++ | {compiler}",
        *(f"{call} | {isa} | {count}" for (call, isa), count in counts.items()),
    ]
    path.write_text("\n".join(lines) + "\n")


def table(unit, counts, stored):
    """Prints a Markdown table; `unit` is what the numbers count."""
    print(f"| call | ISA | {unit} | stored | ratio |\n| --- | --- | --- | --- | --- |")
    for key, count in counts.items():
        now = "not run" if count is None else f"{count / 1e6:.3f}"
        before, ratio = "", "new"
        if key in stored:
            before, ratio = f"{stored[key] / 1e6:.3f}", ""
            if count is not None:
                value = count / stored[key]
                ratio = f"{value:.3f}" + (" **more**" if value > LIMIT else "")
        print(f"| {key[0]} | {key[1]} | {now} | {before} | {ratio} |")
    print()


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="Example: python -m benchmarks.instructions --jobs 2",
    )
    parser.add_argument(
        "--program",
        type=pathlib.Path,
        default=PROGRAM,
        help=f"the program bench_kernels (default: {PROGRAM})",
    )
    parser.add_argument(
        "--stored",
        type=pathlib.Path,
        default=STORE,
        help="the file of stored counts (default: benchmarks/instructions.txt)",
    )
    parser.add_argument("--store", action="store_true", help="write the counts to that file")
    parser.add_argument(
        "--optional", action="store_true", help="succeed on a machine without valgrind"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="number of calls to count at a time (default: the number of CPUs)",
    )
    args = parser.parse_args(argv)
    if args.jobs < 1:
        parser.error(f"--jobs must be at least 1, but it is {args.jobs}.")
    if shutil.which("valgrind") is None:
        sentence = "valgrind is not installed (Debian: apt-get install valgrind)."
        if not args.optional:
            raise SystemExit(sentence)
        print(sentence)
        return
    if not args.program.is_file():
        raise SystemExit(
            f"{args.program} is not built: tools/bazelisk.sh build //benchmarks/kernels:bench_kernels"
        )
    try:
        stored_compiler, stored = read_store(args.stored)
    except ValueError as error:
        if not args.store:
            raise SystemExit(str(error)) from None
        stored_compiler, stored = None, {}
    compiler = output_of(["g++", "-dumpfullversion"]).strip()
    calls, sizes = count_calls(args.program, args.jobs), code_sizes(args.program)
    table("million instructions", calls, stored)
    table("million bytes", sizes, stored)
    counts = calls | sizes
    more = [k for k, n in counts.items() if n and k in stored and n > LIMIT * stored[k]]
    missing = [k for k in counts if k not in stored]
    if more:
        print(f"{len(more)} of {len(counts)} counts are more than {LIMIT} times the stored count.")
    if missing:
        print(f"{args.stored} lacks {len(missing)} of {len(counts)} counts; --store writes them.")
    if stored_compiler not in (None, compiler):
        print(f"The ratios include the change from g++ {stored_compiler} to g++ {compiler}.")
    if args.store:
        if None in counts.values():
            raise SystemExit("Nothing is stored, because this CPU lacks an instruction set.")
        write_store(args.stored, compiler, counts)


if __name__ == "__main__":
    main()
