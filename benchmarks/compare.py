"""Compares two runs of benchmarks.run: times before and after, and their ratio."""

import argparse
import json
import pathlib

from benchmarks import report


def rows(path):
    results = json.loads(pathlib.Path(path).read_text())
    return {(r["name"], r["mode"], r["threads"]): r for r in results["rows"]}


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Example: python -m benchmarks.compare before/results.json after/results.json",
    )
    parser.add_argument("before", help="the results.json of a run")
    parser.add_argument("after", help="the results.json of a later run")
    parser.add_argument(
        "--peer", help="name of the implementation to compare (default: tf_rnn_ops)"
    )
    args = parser.parse_args(argv)
    before, after = rows(args.before), rows(args.after)
    print(f"{'problem':48s} {'before':>9s} {'after':>9s} {'speed-up':>9s}")
    for key in before:
        if key not in after:
            continue
        peer = args.peer or report.own(before[key])[0]
        old, new = (report.medians(r[key]).get(peer) for r in (before, after))
        if old and new:
            name = f"{key[0]} {key[1]} {key[2]}t"
            print(f"{name:48s} {old * 1e3:9.3f} {new * 1e3:9.3f} {old / new:9.2f}")


if __name__ == "__main__":
    main()
