"""Checks random ONNX graphs: `python -m tests.robustness.graph_problem --help`, and README.md here."""

import argparse
import collections
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from robustness.graph_problem import grammar, sets  # noqa: E402


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.robustness.graph_problem", description=__doc__
    )
    parser.add_argument("lines", nargs="*", metavar="LINE", help="a graph")
    parser.add_argument("--set", choices=sets.SETS, help="run a set")
    parser.add_argument("--draw", choices=sets.SETS, help="print the lines of a set")
    parser.add_argument("--seed", type=int, default=0, help="of the set")
    parser.add_argument(
        "--seconds", type=float, help="begin no block of a set after this many seconds"
    )
    args = parser.parse_args()
    if sum(map(bool, (args.lines, args.set, args.draw))) != 1:
        parser.error("expected lines, --set or --draw")
    if args.draw:
        print("\n".join(str(grammar.draw(args.seed, k)) for k in range(sets.SETS[args.draw])))
        return 0
    if args.lines:
        failed = []
        for outcome in sets.run_lines(args.lines):
            failed += [outcome["failed"]] if outcome["failed"] else []
            print(outcome["line"], outcome["failed"] or outcome["found"])
        return int(bool(failed))
    records = sets.run_set(args.set, args.seed, args.seconds)
    failed = [one for record in records for one in record["failed"]]
    found = sum((collections.Counter(record["found"]) for record in records), collections.Counter())
    print("\n".join(f"FAILED {line}\n  {text}" for line, text in failed))
    count = sum(record["graphs"] for record in records)
    print(
        f"{count} of {sets.SETS[args.set]} graphs of {args.set} (seed {args.seed}): {len(failed)} failed"
    )
    print(", ".join(f"{number} {what}" for what, number in sorted(found.items())))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
