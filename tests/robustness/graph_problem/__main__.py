"""Checks random ONNX graphs: `python -m tests.robustness.graph_problem --help`, and README.md here."""

import collections
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from robustness import drawn  # noqa: E402
from robustness.graph_problem import grammar, sets  # noqa: E402


def main():
    args = drawn.arguments("graph_problem", __doc__, sets.SETS, grammar.draw)
    if args is None:
        return 0
    if args.lines:
        failed = []
        for outcome in sets.run_lines(args.lines):
            failed += [outcome["failed"]] if outcome["failed"] else []
            print(outcome["line"], outcome["failed"] or outcome["found"])
        return int(bool(failed))
    records = sets.run_set(args.set, args.seed, args.seconds, args.state)
    failed = [one for record in records for one in record["failed"]]
    found = sum((collections.Counter(record["found"]) for record in records), collections.Counter())
    print("\n".join(f"FAILED {line}\n  {text}" for line, text in failed))
    count = sum(record["problems"] for record in records)
    print(
        f"{count} of {sets.SETS[args.set]} graphs of {args.set} (seed {args.seed}): {len(failed)} failed"
    )
    print(", ".join(f"{number} {what}" for what, number in sorted(found.items())))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
