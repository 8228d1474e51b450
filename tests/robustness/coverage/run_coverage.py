"""Measures the coverage of the C++ code and holds it to the gate: `make coverage`.

README.md next to this file explains what counts.
"""

import collections
import pathlib
import sys
import time

from robustness.coverage import programs, reading
from support.command_line import parse_args
from support.native_build import ROOT

# The least coverage of the lines of a folder.
LEAST = {"cc/cpu": 0.95, "cc/tf": 0.9}
# Places that no test can reach: path, text of the line and reason, by tabs, a line for each.
UNREACHABLE = pathlib.Path(__file__).resolve().parent / "unreachable.txt"
# On a GPU, or for XLA and TensorFlow's own ops, which other libraries than the measured one have.
LEFT_OUT = ("cc/tf/kernels/gpu_", "cc/tf/stock/", "cc/xla/lowering/")


def unreachable():
    """How many lines are listed of each (path, text of the line)."""
    lines = UNREACHABLE.read_text().splitlines()
    return collections.Counter(
        tuple(line.split("\t")[:2]) for line in lines if line and not line.startswith("#")
    )


def _texts(path):
    """The lines of a file without their indents; none of a file that does not exist."""
    file = ROOT / path
    return [line.strip() for line in file.read_text().splitlines()] if file.exists() else []


def gone(listed):
    """(path, number, text, what) of the listed places that the sources do not have."""
    return [
        (path, 0, text, "listed, but gone")
        for (path, text), n in listed.items()
        if n > _texts(path).count(text)
    ]


def _is_code(text):
    """Excludes single braces, where only an exception cleans up, and checks of our own calls."""
    return text.strip("};,()") != "" and not text.startswith("RNN_DCHECK")


def missed_places(files):
    """(path, number, text, what) of the choices of the core and of the errors of cc/tf."""
    for path in sorted(files):
        if not path.startswith(("cc/core/", "cc/tf/")) or path.startswith(LEFT_OUT):
            continue
        texts = _texts(path)
        for number, line in sorted(files[path].items()):
            text = texts[number - 1]
            if path.startswith("cc/tf/"):
                if line.count == 0 and "InvalidArgument" in text:
                    yield path, number, text, "refusal never made"
            elif line.count == 0 and _is_code(text):
                yield path, number, text, "never ran"
            elif line.missed() and _is_code(text):
                yield path, number, text, f"choices {line.missed()}"


def _print_share(folder, files, left_out=()):
    """Prints what ran of a folder; returns the share of lines."""
    paths = [path for path in files if path.startswith(folder) and not path.startswith(left_out)]
    lines = [line for path in paths for line in files[path].values()]
    ran, made = sum(line.count > 0 for line in lines), sum(line.choices() for line in lines)
    missed = sum(len(line.missed()) for line in lines)
    print(
        f"{folder}: {ran} of {len(lines)} lines ({100 * ran / len(lines):.1f} %), "
        f"{made - missed} of {made} choices in every way"
    )
    return ran / len(lines)


def report(plain, every, core_alone):
    """Prints the figures; returns whether the gate is passed."""
    folders = ("cc/core",) if core_alone else ("cc/core", *LEAST)
    listed = collections.Counter(
        {place: n for place, n in unreachable().items() if place[0].startswith(folders)}
    )
    places = [place for place in missed_places(plain) if place[0].startswith(folders)]
    missed = collections.Counter((place[0], place[2]) for place in places)
    open_places = [
        place for place in places if missed[place[0], place[2]] > listed[place[0], place[2]]
    ]
    missing = gone(listed)
    for path, number, text, what in open_places + missing:
        print(f"{path}:{number}: {what}: {text}")
    _print_share("cc/core", plain)
    shares = {}
    if not core_alone:
        shares["cc/tf"] = _print_share("cc/tf", plain, LEFT_OUT)
        shares["cc/cpu"] = _print_share("cc/cpu", every)
    reached = sum((listed - missed).values())
    print(
        f"{len(places) - len(open_places)} places listed as unreachable, {len(open_places)} open; "
        f"{reached} more are listed and were reached"
    )
    enough = all(share >= LEAST[folder] for folder, share in shares.items())
    return enough and not open_places and not missing


OPTIONS = {
    "folder": (ROOT / "build/gcov", "the folder of the build and of the counts"),
    "jobs": (2, "the number of jobs of the build"),
    "seconds": (float("inf"), "begin no test after this many seconds; the next run continues"),
    "core": (False, "the core, by its own tests only"),
    "read-only": (False, "report what the last run counted"),
}


def run_steps(steps, record, end):
    """Runs the steps that have not passed; returns the names of those that failed or are left."""
    passed, failed, left = record.read_text().splitlines(), [], []
    for name, step in steps:
        if name in passed:
            continue
        if time.monotonic() > end:
            left.append(f"left: {name}")
        elif step():
            with record.open("a") as file:
                file.write(f"{name}\n")
        else:
            failed.append(f"failed: {name}")
    return failed + left


def main():
    args = parse_args("robustness.coverage.run_coverage", __doc__, OPTIONS)
    end = time.monotonic() + args.seconds
    # Counts of its own: what other tests run of the core would hide what its own leave out.
    coverage = programs.Coverage(args.folder / "core" if args.core else args.folder, args.jobs)
    missing = []
    if not args.read_only:
        tests = coverage.build_core_tests() if args.core else coverage.build_tests()
        package = None if args.core else coverage.build_package()
        steps = coverage.steps(tests, package, args.jobs)
        missing = run_steps(steps, coverage.done(tests, package), end)
    plain = reading.read(coverage.plain.folder)
    every = plain if args.core else reading.read(coverage.plain.folder, coverage.optimised.folder)
    passed = report(plain, every, args.core)
    print("\n".join(missing))
    return int(bool(missing) or not passed)


if __name__ == "__main__":
    sys.exit(main())
