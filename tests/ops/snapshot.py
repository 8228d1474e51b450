"""Child process: runs fixed problems of both families and writes every output to an .npz file.

Usage: python -m ops.snapshot OUT.npz INTRA_OP_THREADS
"""

import sys

import numpy as np

# (mode, layers, units, input size, direction, num_proj, input_mode, T, B, dtype, dropout)
RNN_PROBLEMS = (
    ("lstm", 2, 67, 33, "bidirectional", 0, "linear_input", 23, 19, "float32", 0.3),
    ("lstm", 2, 64, 48, "unidirectional", 24, "linear_input", 17, 33, "float32", 0.0),
    ("lstm", 1, 160, 96, "unidirectional", 0, "linear_input", 30, 1, "float32", 0.0),
    ("lstm", 3, 31, 31, "bidirectional", 7, "skip_input", 9, 5, "float64", 0.5),
    ("lstm", 1, 128, 64, "unidirectional", 0, "linear_input", 12, 64, "float32", 0.0),
    ("gru", 2, 65, 31, "bidirectional", 0, "linear_input", 23, 18, "float32", 0.3),
    ("gru", 1, 96, 96, "unidirectional", 0, "skip_input", 30, 2, "float64", 0.0),
    ("gru", 1, 128, 32, "unidirectional", 0, "linear_input", 12, 48, "float32", 0.0),
    ("rnn_tanh", 2, 63, 17, "bidirectional", 0, "linear_input", 23, 18, "float32", 0.2),
    ("rnn_relu", 2, 63, 17, "unidirectional", 0, "linear_input", 11, 18, "float32", 0.2),
    ("lstm", 1, 48, 33, "bidirectional", 0, "linear_input", 9, 21, "bfloat16", 0.0),
    ("gru", 2, 48, 33, "bidirectional", 0, "linear_input", 9, 21, "float16", 0.0),
)
# (T, B, I, H, dtype, seq_len_max, peephole, clip)
BLOCK_PROBLEMS = (
    (23, 19, 33, 67, "float32", 23, True, 0.5),
    (30, 1, 64, 160, "float32", 21, False, 0.0),
    (12, 48, 64, 128, "float32", 12, False, 0.0),
    (9, 21, 33, 48, "float64", 9, True, 0.0),
    (9, 21, 33, 48, "float16", 9, True, 0.0),
    (9, 21, 33, 48, "bfloat16", 7, True, 0.0),
)


def rnn_problem(k):
    from support import cases
    from support.reference.spec import RnnSpec

    mode, layers, units, inputs, direction, proj, input_mode, steps, batch, dtype, _ = RNN_PROBLEMS[
        k
    ]
    spec = RnnSpec(mode, layers, units, inputs, direction, input_mode, proj)
    return cases.rnn_case(spec, steps, batch, np.random.default_rng(100 + k), dtype)


def block_problem(k):
    from support import cases

    steps, batch, inputs, units, dtype, seq_len_max, peephole, clip = BLOCK_PROBLEMS[k]
    return cases.block_case(
        steps,
        batch,
        inputs,
        units,
        np.random.default_rng(200 + k),
        dtype,
        seq_len_max,
        use_peephole=peephole,
        cell_clip=clip,
    )


def dtype_of(name):
    """The dtype of the problem behind one array of compute(), such as rnn3.0.output."""
    problem = name.split(".")[0]
    if problem.startswith("rnn"):
        return RNN_PROBLEMS[int(problem.removeprefix("rnn"))][9]
    return BLOCK_PROBLEMS[int(problem.removeprefix("block"))][4]


def compute():
    """Every output and gradient as float64 arrays (exact for all four types)."""
    import tf_rnn_ops
    from support import tf_ops

    ops = tf_rnn_ops.raw_ops
    arrays = {"isa": np.array(tf_rnn_ops.cpu_isa())}
    for k, problem in enumerate(RNN_PROBLEMS):
        case, dropout = rnn_problem(k), problem[-1]
        for call in range(2):
            result = tf_ops.rnn_forward(ops, case, dropout=dropout, seed=k, seed2=1)
            grads = tf_ops.rnn_backward(ops, case, result, dropout=dropout, seed=k, seed2=1)
            for name, value in tf_ops.rnn_arrays(case, result, grads).items():
                arrays[f"rnn{k}.{call}.{name}"] = value
        result = tf_ops.rnn_forward(ops, case, is_training=False)
        arrays[f"rnn{k}.inference.output"] = tf_ops.rnn_arrays(case, result)["output"]
    for k in range(len(BLOCK_PROBLEMS)):
        case = block_problem(k)
        result = tf_ops.block_forward(ops, case)
        grads = tf_ops.block_backward(ops, case, result)
        for name, value in tf_ops.block_arrays(result, grads).items():
            arrays[f"block{k}.{name}"] = value
    return arrays


def main():
    import tensorflow as tf

    path, threads = sys.argv[1], int(sys.argv[2])
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    np.savez(path, **compute())


if __name__ == "__main__":
    main()
