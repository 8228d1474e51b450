"""Random cases as lines of text: dice, keys of a line, sets that go on where they stopped, the command line.

problem, graph_problem and model_problem each draw and check a kind of case.
"""

import argparse
import dataclasses
import datetime
import hashlib
import json
import pathlib
import subprocess
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Dice:
    """Draws from a source of random numbers.

    Args:
        below: A function of a count, which returns one of the numbers below it.
    """

    def __init__(self, below):
        self.below = below

    def one_of(self, values):
        return values[self.below(len(values))]

    def chance(self, percent):
        return self.below(100) < percent


def numbered_dice(seed, number):
    """The Dice of case `number` of the set with this seed."""
    rng = np.random.default_rng([seed, number])
    return Dice(lambda count: int(rng.integers(count)))


# ---- lines of dataclasses of which some fields are tuples ----


def word(field, value):
    """key=value; a tuple has its parts behind commas."""
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{field.name}={text}" if text else ""


def parse(line, kind):
    """The case of a line.

    Raises:
        ValueError: A key is unknown.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    values = {}
    for part in line.split("#")[0].split():
        key, _, text = part.partition("=")
        if key not in fields:
            raise ValueError(f"{part!r} has an unknown key; known are {', '.join(fields)}.")
        default = fields[key].default
        if isinstance(default, tuple):
            number = bool(default) and isinstance(default[0], int)
            values[key] = tuple(int(t) if number else t for t in text.split(","))
        else:
            values[key] = type(default)(text)
    return kind(**values)


# ---- sets ----


def jsonl(path):
    """The records of a file with a line of JSON each; none if there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add_record(path, record):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def version():
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def cpu():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def _digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _records(state, lines_of):
    """{(runner, block): its last record}, of blocks that are drawn today as they were."""
    if state is None:
        return {}
    last = {(r["runner"], r["block"]): r for r in jsonl(state)}
    digests = {block: _digest(lines_of(block)) for block in {block for _, block in last}}
    return {key: r for key, r in last.items() if r.get("lines") == digests[r["block"]]}


def run_set(keys, lines_of, run, state=None, seconds=None, report=print):
    """Runs a set block by block, those of `state` left out in which nothing failed.

    Args:
        keys: (runner, block) of each block, in their order.
        lines_of: A function of the number of a block, which returns its lines.
        run: A function of runner, block and lines. It returns a dict for the record with the list `failed`.
        state: File with a line of JSON for each block that was run, or None. A block whose lines were
            drawn otherwise counts as not run.
        seconds: No block begins after this many seconds.
        report: Called with a line of text for each block.

    Returns:
        The last records of all blocks, those of earlier runs too.
    """
    records = _records(state, lines_of)
    todo = [key for key in keys if key not in records or records[key]["failed"]]
    if not todo:
        report(f"nothing is left to run; without {state} all blocks run again")
    common, begin = {"cpu": cpu(), "version": version()}, time.monotonic()
    for runner, block in todo:
        if seconds is not None and time.monotonic() - begin > seconds:
            break
        lines, started = lines_of(block), time.monotonic()
        record = {"runner": runner, "block": block, "problems": len(lines)}
        record |= {"lines": _digest(lines), **common, **run(runner, block, lines)}
        record["seconds"] = round(time.monotonic() - started, 1)
        record["date"] = datetime.date.today().isoformat()
        records[runner, block] = record
        if state is not None:
            add_record(state, record)
        report(
            f"{runner} block {block}: {len(lines)} problems in {record['seconds']} s, "
            f"{len(record['failed'])} failed"
        )
    return list(records.values())


# ---- command lines ----


def arguments(package, doc, sets, line_of, *, more=None):
    """The arguments of a command for lines or sets; None if they ask for the lines of a set.

    Args:
        package: The name of the package in tests/robustness.
        doc: The description.
        sets: {name of a set: how many cases it has}.
        line_of: A function of a seed and a number, which returns a case.
        more: A function that adds arguments to a parser.
    """
    parser = argparse.ArgumentParser(prog=f"python -m tests.robustness.{package}", description=doc)
    parser.add_argument("lines", nargs="*", metavar="LINE", help="a case; see README.md")
    parser.add_argument("--set", choices=sets, help="run a set")
    parser.add_argument("--draw", choices=sets, help="print the lines of a set")
    parser.add_argument("--seed", type=int, default=0, help="of the set")
    add_seconds(parser, "block of a set")
    parser.add_argument(
        "--state", type=pathlib.Path, help="file that remembers the blocks of a set that were run"
    )
    if more is not None:
        more(parser)
    args = parser.parse_args()
    names = ("lines", "set", "draw")
    if sum(bool(getattr(args, name)) for name in names) != 1:
        parser.error(f"expected lines or one of {', '.join(f'--{name}' for name in names[1:])}")
    if args.draw:
        print("\n".join(str(line_of(args.seed, k)) for k in range(sets[args.draw])))
        return None
    args.state = args.state or pathlib.Path(
        f"build/problems/{package}-{args.set}-{args.seed}.jsonl"
    )
    return args


def add_seconds(parser, what, default=None):
    """The argument --seconds of a command that begins nothing after some time."""
    shown = "" if default is None else " (default: %(default)s)"
    parser.add_argument(
        "--seconds", type=float, default=default,
        help=f"begin no {what} after this many seconds{shown}",
    )  # fmt: skip
