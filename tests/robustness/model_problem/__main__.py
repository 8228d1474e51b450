"""Exports random models: `python -m tests.robustness.model_problem --help`, and README.md here."""

import argparse
import collections
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from robustness.model_problem import grammar, sets  # noqa: E402
from robustness.model_problem.check import failures  # noqa: E402
from robustness.model_problem.runtimes import Runtimes  # noqa: E402
from robustness.model_problem.shrink import shrink  # noqa: E402


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.robustness.model_problem", description=__doc__
    )
    parser.add_argument("lines", nargs="*", metavar="LINE", help="a model")
    parser.add_argument("--set", choices=sets.SETS, help="run a set")
    parser.add_argument("--draw", choices=sets.SETS, help="print the lines of a set")
    parser.add_argument("--shrink", metavar="LINE", help="print a shorter line that fails, too")
    parser.add_argument("--seed", type=int, default=0, help="of the set")
    parser.add_argument(
        "--seconds", type=float, help="begin no model of a set after this many seconds"
    )
    args = parser.parse_args()
    if sum(map(bool, (args.lines, args.set, args.draw, args.shrink))) != 1:
        parser.error("expected lines, --set, --draw or --shrink")
    if args.draw:
        print("\n".join(str(grammar.draw(args.seed, k)) for k in range(sets.SETS[args.draw])))
        return 0
    sets.send_no_statistics()
    if args.shrink:
        return _shrink(args.shrink)
    if args.lines:
        with Runtimes() as runtimes:
            records = sets.run_lines(args.lines, runtimes)
        for record in records:
            print(record["line"], record["found"])
    else:
        records = sets.run_set(args.set, args.seed, args.seconds)
        print(_report(records, f"{args.set} (seed {args.seed})", sets.SETS[args.set]))
    return int(any(failures(record["found"]) for record in records))


def _shrink(line):
    with Runtimes() as runtimes:

        def fails(network):
            (record,) = sets.run_lines([str(network)], runtimes)
            return bool(failures(record["found"]))

        network = grammar.parse(line)
        if not fails(network):
            print("The line does not fail.")
            return 1
        print(shrink(network, fails))
    return 0


def _report(records, name, size):
    lines = []
    found = collections.Counter()
    for record in records:
        lines += [f"FAILED {line}" for line in failures(record["found"], record["line"])]
        found.update(record["found"].items())
    lines.append(f"{len(records)} of {size} models of {name}")
    lines += [
        f"  {format}: {number} {outcome}"
        for (format, outcome), number in sorted(found.items())
        if not outcome.startswith("wrong")
    ]
    lines.append(f"{sum(line.startswith('FAILED') for line in lines)} failed")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
