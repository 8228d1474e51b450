"""Exports random models: `python -m tests.robustness.model_problem --help`, and README.md here."""

import collections
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from robustness import drawn  # noqa: E402
from robustness.model_problem import grammar, sets  # noqa: E402
from robustness.model_problem.check import failures  # noqa: E402
from robustness.model_problem.runtimes import Runtimes  # noqa: E402


def main():
    args = drawn.arguments("model_problem", __doc__, sets.SETS, grammar.draw)
    if args is None:
        return 0
    if args.lines:
        with Runtimes() as runtimes:
            records = sets.run_lines(args.lines, runtimes)
        for record in records:
            print(record["line"], record["found"])
    else:
        records = sets.run_set(args.set, args.seed, args.seconds, args.state)
        print(_report(records, f"{args.set} (seed {args.seed})", sets.SETS[args.set]))
    return int(any(failures(record["found"]) for record in records))


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
