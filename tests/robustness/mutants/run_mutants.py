"""Lets the tests find seeded faults: `python -m robustness.mutants.run_mutants --help`."""

import collections
import datetime
import hashlib
import pathlib
import sys
import time

from robustness.drawn import add_record, jsonl
from robustness.mutants import mutate, tested
from support.command_line import parse_args
from support.native_build import ROOT

# Why a mutant that survives is right too, or what it costs alone: a line for each.
EXPLAINED = pathlib.Path(__file__).resolve().parent / "explained.txt"


def mutants(group):
    """{key: Mutant} of all mutants of a group. A key says nothing of the line's number."""
    found, seen = {}, collections.Counter()
    for path in tested.GROUPS[group][0]:
        text = (ROOT / path).read_text()
        for mutant in mutate.mutants_of(path, text):
            name = name_of(mutant, text)
            seen[name] += 1
            found[f"{name} #{seen[name]}"] = mutant
    return found


def drawn(group, seed):
    """{key: Mutant} of the mutants of a group that run, in their order.

    The order follows from the keys, so a change of a line leaves the order of the other mutants.
    """
    found, count = mutants(group), tested.GROUPS[group][1]
    order = sorted(found, key=lambda key: hashlib.sha256(f"{seed} {key}".encode()).digest())
    return {key: found[key] for key in order[:count]}


def explained():
    """The keys of the mutants in explained.txt."""
    lines = EXPLAINED.read_text().splitlines() if EXPLAINED.exists() else []
    return {line.split(" # ")[0].strip() for line in lines if line and not line.startswith("#")}


def name_of(mutant, text):
    """'path: kind 'old' -> 'new' | text of the line'; a key has a number behind it."""
    line = text.splitlines()[mutant.line - 1].strip()
    return f"{mutant.path}: {mutant.kind} {mutant.old.strip()!r} -> {mutant.new.strip()!r} | {line}"


def run_one(tests, key, mutant):
    began = time.monotonic()
    text = (ROOT / mutant.path).read_text()
    try:
        killer = tests.killed_by(mutant.path, mutant.apply(text))
        verdict = f"killed by {killer}" if killer else "survived"
    except tested.NotBuilt:
        verdict = "does not compile"
    except tested.SameCode:
        verdict = "is the same code"
    return {
        "key": key, "verdict": verdict,
        "seconds": round(time.monotonic() - began, 1), "date": datetime.date.today().isoformat(),
    }  # fmt: skip


def summary(group, records):
    """The counts of the records of a group.

    Mutants that do not compile, or compile to the same code, do not count.
    """
    none = ("does not compile", "is the same code")
    real = [r for r in records if r["verdict"] not in none]
    survivors = [r for r in real if r["verdict"] == "survived"]
    known = explained()
    open_ones = [r for r in survivors if r["key"] not in known]
    killed = len(real) - len(survivors)
    share = f", {100 * killed / len(real):.1f} % killed" if real else ""
    lines = [
        f"{group}: {len(real)} mutants{share}; {len(survivors)} survived, "
        f"{len(survivors) - len(open_ones)} of them explained"
    ]
    return lines + [f"  survived: {r['key']}" for r in open_ones]


OPTIONS = {
    "groups": (
        list(tested.GROUPS),
        "the groups of files to mutate",
        {"nargs": "+", "choices": tested.GROUPS},
    ),
    "seconds": (600.0, "begin no mutant after this many seconds"),
    "seed": (0, "the seed of the order of the mutants"),
    "first": (1, "the number of the first mutant, if earlier mutants ran elsewhere"),
    "jobs": (2, "the number of jobs of the build"),
    "folder": (ROOT / "build/mutants", "the folder of the build and of the results"),
    "again": (False, "run the survivors that are not explained once more"),
}


def _run_group(group, args, end):
    state = args.folder / f"{group}-{args.seed}.jsonl"
    records = {record["key"]: record for record in jsonl(state)}
    # Files change between runs: only mutants of the present text count.
    present = drawn(group, args.seed)
    done = {key for key in present if key in records}
    if args.again:
        known = explained()
        done -= {
            key for key in done
            if records[key]["verdict"] == "survived" and key not in known
        }  # fmt: skip
    left = [key for key in list(present)[args.first - 1 :] if key not in done]
    if left and time.monotonic() < end:
        tests = tested.GROUPS[group][2](args.folder / group, args.jobs)
        if failed := tests.check():
            raise SystemExit(f"without a mutant these fail: {failed}")
        for key in left:
            if time.monotonic() > end:
                break
            record = run_one(tests, key, present[key])
            records[key] = record
            add_record(state, record)
            print(f"{record['verdict']}: {present[key]} ({record['seconds']} s)", flush=True)
    return summary(group, [records[key] for key in present if key in records])


def main():
    args = parse_args("robustness.mutants.run_mutants", __doc__, OPTIONS)
    end = time.monotonic() + args.seconds
    lines = []
    for group in args.groups:
        lines += _run_group(group, args, end)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
