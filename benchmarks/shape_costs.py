"""Times layouts, lengths and odd sizes: two calls of tf_rnn_ops next to each other.

    python -m benchmarks.shape_costs [--threads N] [--output FILE]

Each case is a pair of alternating runs: batch major and time major (expected within 5 %), random and full
lengths (expected in proportion to the valid steps), or an odd size and its even neighbour (expected within
15 %, though the odd size has slightly less work). The op is CudnnRNNV3 unless the case names another op.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import time

from benchmarks import machine

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


@dataclasses.dataclass(frozen=True)
class Size:
    """One side of a pair."""

    T: int
    B: int
    I: int  # noqa: E741 - the project's letter for the input size
    H: int
    time_major: bool = True
    lengths: str = "full"  # or "random": uniform over 1..T
    op: str = "CudnnRNNV3"  # or LayerRNN


@dataclasses.dataclass(frozen=True)
class Case:
    """A pair, and the largest expected factor between the two times."""

    name: str
    base: Size
    other: Size
    allowed: float


def cases(scale=1):
    """The pairs. `scale` divides T, for tests."""
    T = max(2, 100 // scale)
    big, small = Size(T, 32, 256, 256), Size(T, 4, 64, 256)
    change = dataclasses.replace
    result = []
    for op in ("CudnnRNNV3", "LayerRNN"):
        for size in (big, Size(T, 1, 128, 256), Size(T, 128, 128, 128)):
            base = change(size, op=op)
            name = f"{op} ({T},{size.B},{size.I},{size.H}): batch major"
            result.append(Case(name, base, change(base, time_major=False), 1.05))
        base = change(big, op=op)
        for major in (True, False):
            pair = [change(base, time_major=major, lengths=n) for n in ("full", "random")]
            name = f"{op} random lengths, {'time' if major else 'batch'} major"
            result.append(Case(name, *pair, 1.15))
    result += [
        Case("H=250 beside 256", big, change(big, H=250), 1.15),
        Case("H=257 beside 272", change(big, H=272), change(big, H=257), 1.15),
        Case("I=1 beside 2", change(big, I=2), change(big, I=1), 1.15),
        Case("I=63 beside 64", change(big, I=64), change(big, I=63), 1.15),
        Case("B=3 beside 4", small, change(small, B=3), 1.15),
        Case("B=31 beside 32", big, change(big, B=31), 1.15),
        Case("T*B odd: T=99 next to 100", big, change(big, T=max(1, T - 1)), 1.15),
    ]
    return result


def lengths_of(size):
    """The lengths, int32 [B]. Random lengths are the same in every run."""
    import numpy as np

    if size.lengths == "full":
        return np.full(size.B, size.T, np.int32)
    return np.random.default_rng(7).integers(1, size.T + 1, size.B).astype(np.int32)


def expected(case):
    """The factor of the times that follows from the work: valid steps of the rows and sizes of the
    products.

    WHY the neighbour's cost and not exact flops: the odd size should not cost more than the even size, but
    it may cost as much although it is smaller.
    """
    if case.other.lengths == "random":
        return float(lengths_of(case.other).sum()) / (case.other.T * case.other.B)
    return 1.0


def build(size, training):
    """A function without arguments that runs the problem to its end."""
    import numpy as np
    import tensorflow as tf

    from tf_rnn_ops import raw_ops

    rng = np.random.default_rng(0)

    def tensor(*shape, scale=1.0):
        return tf.constant((rng.standard_normal(shape) * scale).astype("f4"))

    T, B, I, H = size.T, size.B, size.I, size.H  # noqa: E741
    x = tensor(*((T, B, I) if size.time_major else (B, T, I)))
    dy = tensor(*((T, B, H) if size.time_major else (B, T, H)))
    lengths = tf.constant(lengths_of(size))
    if size.op == "LayerRNN":
        shapes = [(I, 4 * H), (H, 4 * H), (4 * H,)]
        zeros = tf.zeros([B, H])
    else:
        shapes = [(4 * H * (I + H + 2),)]
        zeros = tf.zeros([1, B, H] if size.time_major else [B, 1, H])
    weights = [tensor(*shape, scale=0.05) for shape in shapes]

    def forward(x, *weights):
        names = ["kernel", "recurrent_kernel", "bias"] if size.op == "LayerRNN" else ["params"]
        return getattr(raw_ops, size.op)(
            input=x,
            input_h=zeros,
            input_c=zeros,
            sequence_lengths=lengths,
            rnn_mode="lstm",
            is_training=training,
            time_major=size.time_major,
            **dict(zip(names, weights, strict=True)),
        )[0]

    def step():
        if not training:
            return [forward(x, *weights)]
        with tf.GradientTape() as tape:
            tape.watch([x, *weights])
            y = forward(x, *weights)
        return tape.gradient(y, [x, *weights], dy)

    function = tf.function(step)
    return lambda: np.asarray(function()[-1])  # waits for it; .numpy() would copy it


def measure(pair, rounds):
    """The median seconds of both, and the median of their quotient over the rounds."""
    runs = []
    for run in pair:
        run()
        start = time.perf_counter()
        run()
        runs.append(max(1, round(0.04 / (time.perf_counter() - start))))
    seconds = [[], []]
    for _ in range(rounds):
        for run, count, into in zip(pair, runs, seconds, strict=True):
            start = time.perf_counter()
            for _ in range(count):
                run()
            into.append((time.perf_counter() - start) / count)
    quotient = statistics.median(b / a for a, b in zip(*seconds, strict=True))
    return [statistics.median(s) for s in seconds], quotient


def table(rows):
    """The table as Markdown. 'of expected' is the measured factor divided by the factor of the work."""
    head = [
        "case",
        "mode",
        "threads",
        "even, ms",
        "other, ms",
        "factor",
        "expected",
        "of expected",
        "allowed",
    ]
    out = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in rows:
        over = row["factor"] / row["expected"]
        text = f"{over:.2f}" if over <= row["allowed"] else f"**{over:.2f}**"
        milliseconds = [f"{s * 1e3:.3g}" for s in row["seconds"]]
        cells = [row["case"], row["mode"], str(row["threads"]), *milliseconds]
        cells += [f"{row['factor']:.2f}", f"{row['expected']:.2f}", text, f"{row['allowed']:.2f}"]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.shape_costs --rounds 5 --output shape_costs.json",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="threads within an op (default: the usable cores, %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=9,
        help="rounds, each with a turn of both sides of a pair (default: %(default)s)",
    )
    parser.add_argument(
        "--scale",
        type=int,
        default=1,
        help="divisor of the number of steps, for a quick look (default: %(default)s)",
    )
    parser.add_argument(
        "--cases", default="", help="only cases whose name contains this text (default: all)"
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        help="JSON file to write, with the table in a file next to it (default: none)",
    )
    args = parser.parse_args(argv)
    machine.prefer_installed()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    rows = []
    for case in cases(args.scale):
        if args.cases not in case.name:
            continue
        for training in (False, True):
            pair = [build(size, training) for size in (case.base, case.other)]
            seconds, factor = measure(pair, args.rounds)
            row = {
                "case": case.name,
                "mode": "training" if training else "inference",
                "threads": args.threads,
                "seconds": seconds,
                "factor": factor,
                "expected": expected(case),
                "allowed": case.allowed,
            }
            rows.append(row)
            print(table([row]).splitlines()[-1], flush=True)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps({"machine": machine.describe(), "rows": rows}, indent=1))
        args.output.with_suffix(".md").write_text(table(rows))


if __name__ == "__main__":
    main()
