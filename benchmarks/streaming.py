"""Times single steps (T=1) that carry the state: the cost of a call in TensorFlow and of our kernel.

    python -m benchmarks.streaming [SHAPES ...] [--kernels PROGRAM] [--output FILE]

Calls: a tf.function with the same signature (x, h and, for LSTM, c as inputs; h and c as outputs) that
computes nothing, as the lower bound; then the raw ops, our Keras layer, Keras's layer, and Keras's cell.
Loops: many steps inside one tf.function, in a tf.while_loop that carries the state, compared with a loop
that computes nothing, so that the ops are compared without the cost of a call. All variants alternate in
one process. With --kernels only the kernel is timed, by the program of `make bench-kernels`.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

from benchmarks import loop, machine, problems

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")


def parse_args(argv):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.streaming 'gru 1 1 128 128'",
    )
    parser.add_argument(
        "shapes",
        nargs="*",
        default=["streaming"],
        help="as in benchmarks.run, LSTM and GRU of one step (default: streaming)",
    )
    parser.add_argument(
        "--steps", type=int, default=500, help="steps of a loop (default: %(default)s)"
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
        default=7,
        help="rounds, each with a turn of every implementation (default: %(default)s)",
    )
    parser.add_argument(
        "--kernels",
        type=pathlib.Path,
        help="the program bench_kernels, to time also the kernel without TensorFlow (default: leave it out)",
    )
    parser.add_argument("--output", type=pathlib.Path, help="JSON file to write (default: none)")
    return parser.parse_args(argv)


def steps_of(problem):
    """The variants, {name: function from x [B, I] and states [B, H] to new states}, with common weights."""
    import keras
    import numpy as np
    import tensorflow as tf

    import tf_rnn_ops.keras
    from tf_rnn_ops import raw_ops
    from tf_rnn_ops.keras.dispatch import params as op_params

    cell, batch, width, units = problem.cell, problem.B, problem.I, problem.H
    has_c = cell == "lstm"
    kind = cell.upper()
    stock = getattr(keras.layers, kind)(units, return_state=True)
    ours = getattr(tf_rnn_ops.keras, kind)(units, return_state=True)
    for layer in (stock, ours):
        layer.build((batch, 1, width))
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(w.shape).astype("f4") * 0.05 for w in stock.get_weights()]
    stock.set_weights(weights)
    ours.set_weights(weights)
    kernel, recurrent, bias = (tf.constant(w) for w in weights)
    make_params = op_params.one_bias if has_c else op_params.gru
    params = make_params(kernel, recurrent, bias)
    nothing = tf.zeros([])
    lengths = tf.ones([batch], tf.int32)

    def empty(x, *states):
        return [s + 0.0 for s in states]

    def layer_op(x, h, c=nothing):
        result = raw_ops.LayerRNN(
            input=x[None],
            input_h=h,
            input_c=c,
            kernel=kernel,
            recurrent_kernel=recurrent,
            bias=bias,
            rnn_mode=cell,
            is_training=False,
        )
        return [result.output_h, result.output_c] if has_c else [result.output_h]

    def stack_op(x, h, c=None):
        result = raw_ops.CudnnRNNV3(
            input=x[None],
            input_h=h[None],
            input_c=c[None] if has_c else nothing,
            params=params,
            sequence_lengths=lengths,
            rnn_mode=cell,
            is_training=False,
        )
        return [result.output_h[0], result.output_c[0]] if has_c else [result.output_h[0]]

    def layer(of):
        return lambda x, *states: of(x[:, None], initial_state=list(states))[1:]

    return {
        "nothing": empty,
        "tf_rnn_ops LayerRNN": layer_op,
        "tf_rnn_ops CudnnRNNV3": stack_op,
        "tf_rnn_ops Keras layer": layer(ours),
        "Keras layer": layer(stock),
        "Keras cell": lambda x, *states: stock.cell(x, list(states))[1],
    }


def loop_of(step, count):
    """A function that runs `step` `count` times on the same x, and carries the states."""
    import tensorflow as tf

    def run(x, *states):
        def body(i, *states):
            return [i + 1, *step(x, *states)]

        return tf.while_loop(
            lambda i, *_: i < count, body, [tf.constant(0), *states], parallel_iterations=1
        )[1:]

    return run


def kernel_seconds(args, problem):
    """The time of the kernel without TensorFlow, from bench_kernels; None without that program."""
    if args.kernels is None:
        return None
    shape = f"{problem.cell} 1 {problem.B} {problem.I} {problem.H}"
    command = [str(args.kernels), "--threads", str(args.threads), "--rounds", str(args.rounds)]
    done = subprocess.run([*command, shape], check=True, capture_output=True, text=True)
    cells = [line.split("|") for line in done.stdout.splitlines() if "| forward |" in line]
    return float(cells[-1][5]) / 1e3


def measure(functions, inputs, args, per_call):
    """The median seconds of a step of each function, whose call has `per_call` steps."""
    times = {n: loop.seconds_of(lambda f=f: f(*inputs)) for n, f in functions.items()}
    seconds = loop.take_turns(times, args.rounds)
    return {name: statistics.median(s) / per_call for name, s in seconds.items()}


def run_problem(args, problem):
    import numpy as np
    import tensorflow as tf

    steps = steps_of(problem)
    rng = np.random.default_rng(1)

    def tensor(*shape):
        return tf.constant(rng.standard_normal(shape).astype("f4") * 0.3)

    inputs = [tensor(problem.B, problem.I)]
    inputs += [tensor(problem.B, problem.H) for _ in range(2 if problem.cell == "lstm" else 1)]
    functions = {name: tf.function(step) for name, step in steps.items()}
    want = functions["Keras cell"](*inputs)
    for name, function in functions.items():
        if name != "nothing":
            for got, expected in zip(function(*inputs), want, strict=True):
                np.testing.assert_allclose(got, expected, atol=1e-5, err_msg=name)
    loops = {n: tf.function(loop_of(step, args.steps)) for n, step in steps.items()}
    return {
        "problem": problem.name,
        "kernel": kernel_seconds(args, problem),
        "call": measure(functions, inputs, args, 1),
        "loop": measure(loops, inputs, args, args.steps),
    }


def table(rows):
    """The table as Markdown, in microseconds per step."""
    out = [
        "Microseconds a step. 'over nothing': less what the same function without the step takes;",
        "'Keras layer' and 'Keras cell': their time over the row's.",
        "",
    ]
    for row in rows:
        out += [f"{row['problem']}", ""]
        if row["kernel"] is not None:
            share = row["kernel"] / row["call"]["tf_rnn_ops LayerRNN"]
            out += [
                f"Kernel alone {row['kernel'] * 1e6:.1f} us, {share:.0%} of the LayerRNN call.",
                "",
            ]
        out += [
            "| | call | over nothing | Keras layer | in a loop | over nothing | Keras cell |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        call, looped = row["call"], row["loop"]
        for name in call:
            extra = [call[name] - call["nothing"], looped[name] - looped["nothing"]]
            out.append(
                f"| {name} | {call[name] * 1e6:.1f} | {extra[0] * 1e6:.1f} | "
                f"{call['Keras layer'] / call[name]:.2f} | {looped[name] * 1e6:.1f} | "
                f"{extra[1] * 1e6:.1f} | {looped['Keras cell'] / looped[name]:.2f} |"
            )
        out.append("")
    return "\n".join(out)


def main(argv=None):
    args = parse_args(argv)
    machine.prefer_installed()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    rows = [run_problem(args, problem) for name in args.shapes for problem in problems.read(name)]
    text = table(rows)
    print(text)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        result = {"machine": machine.describe(), "threads": args.threads, "rows": rows}
        args.output.write_text(json.dumps(result, indent=1))
        args.output.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
