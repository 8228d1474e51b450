"""Checks problems: `python -m tests.robustness.problem --help`, and README.md next to this file."""

import argparse
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from robustness.problem import draw, sets  # noqa: E402


def _parse_args():
    parser = argparse.ArgumentParser(prog="python -m tests.robustness.problem", description=__doc__)
    parser.add_argument(
        "lines", nargs="*", metavar="LINE", help="a problem; see tests/robustness/problem"
    )
    parser.add_argument("--set", choices=draw.SETS, help="run a set")
    parser.add_argument("--draw", choices=draw.SETS, help="print the lines of a set")
    parser.add_argument("--seed", type=int, default=0, help="of the set")
    parser.add_argument(
        "--seconds", type=float, help="begin no block of a set after this many seconds"
    )
    parser.add_argument(
        "--state", type=pathlib.Path, help="file that remembers the blocks of a set that were run"
    )
    parser.add_argument(
        "--runners", nargs="+", choices=sets.RUNNERS, default=list(sets.RUNNERS),
        help="the Python ops, and the kernels without TensorFlow if their program is built",
    )  # fmt: skip
    args = parser.parse_args()
    if sum(map(bool, (args.lines, args.set, args.draw))) != 1:
        parser.error("expected lines, --set or --draw")
    return args


def _run_set(args):
    state = args.state or pathlib.Path(f"build/problems/{args.set}-{args.seed}.jsonl")
    records = sets.run_set(args.set, args.seed, args.runners, args.seconds, state)
    print("\n".join(sets.failures(records) + sets.summary(records)))
    return any(r["failed"] for r in records)


def main():
    args = _parse_args()
    if args.draw:
        print("\n".join(str(draw.problem(args.seed, k)) for k in range(draw.SETS[args.draw][0])))
        return 0
    if "kernels" in args.runners and not sets.KERNELS.exists():
        print(f"not built, so left out: {sets.KERNELS.relative_to(sets.ROOT)}", file=sys.stderr)
        args.runners.remove("kernels")
    if args.set:
        return int(_run_set(args))
    outcomes = sets.run_lines(args.lines, args.runners)
    for outcome in outcomes:
        print(outcome.get("log", ""), end="")
        print(f"{'FAILED' if outcome['failed'] else 'ok'} {outcome['label']} {outcome['failed']}")
    return int(any(outcome["failed"] for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
