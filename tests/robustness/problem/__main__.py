"""Checks problems: `python -m tests.robustness.problem --help`, and README.md next to this file."""

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from robustness import drawn  # noqa: E402
from robustness.problem import draw, sets  # noqa: E402


def _add_runners(parser):
    parser.add_argument(
        "--runners", nargs="+", choices=sets.RUNNERS, default=list(sets.RUNNERS),
        help="the Python ops, and the kernels without TensorFlow if their program is built",
    )  # fmt: skip


def main():
    sizes = {name: count for name, (count, _) in draw.SETS.items()}
    args = drawn.arguments("problem", __doc__, sizes, draw.problem, more=_add_runners)
    if args is None:
        return 0
    if "kernels" in args.runners and not sets.KERNELS.exists():
        print(f"not built, so left out: {sets.KERNELS.relative_to(drawn.ROOT)}", file=sys.stderr)
        args.runners.remove("kernels")
    if args.set:
        records = sets.run_set(args.set, args.seed, args.runners, args.seconds, args.state)
        print("\n".join(sets.failures(records) + sets.summary(records)))
        return int(any(r["failed"] for r in records))
    outcomes = sets.run_lines(args.lines, args.runners)
    for outcome in outcomes:
        print(outcome.get("log", ""), end="")
        print(f"{'FAILED' if outcome['failed'] else 'ok'} {outcome['label']} {outcome['failed']}")
    return int(any(outcome["failed"] for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
