"""The ops of tf_rnn_ops, as users call them, and TensorFlow's own BlockLSTMV2."""

import functools

import numpy as np
import tensorflow as tf

from benchmarks.peers import Unsupported, ours_int8

_MODES = {"lstm": "lstm", "gru": "gru", "tanh": "rnn_tanh", "relu": "rnn_relu"}


def make(variant, threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if variant == "tensorflow":
        return _Block(tf.raw_ops, f"tensorflow {tf.__version__}")
    import tf_rnn_ops

    version = f"tf_rnn_ops {tf_rnn_ops.__version__} ({tf_rnn_ops.cpu_isa()})"
    if variant == "block":
        return _Block(tf_rnn_ops.raw_ops, version)
    if variant == "packed":
        return _Packed(tf_rnn_ops.raw_ops, version)
    if variant == "jit":
        return _Stack(tf_rnn_ops.raw_ops, version, jit=True)
    return _Stack(tf_rnn_ops.raw_ops, version)


class _Peer:
    """Calls `forward(*variables)` eagerly or, in training, with its gradients in a tf.function.

    With `jit` XLA compiles a function of the call in both cases.
    """

    def __init__(self, ops, version, jit=False):
        self.ops = ops
        self.version = version
        self.jit = jit

    def _trace(self, forward, variables, dy, training):
        if not training:
            step = lambda: [forward(*variables)]  # noqa: E731
            self._step = tf.function(step, jit_compile=True) if self.jit else step
            return

        def step():
            with tf.GradientTape() as tape:
                tape.watch(variables)
                y = forward(*variables)
            return [y] + tape.gradient(y, variables, dy)

        self._step = tf.function(step, jit_compile=self.jit)

    def run(self):
        self._last = self._step()
        np.asarray(self._last[-1])  # waits for it; .numpy() would copy it

    def result(self):
        names = ["y", "dx"]
        values = {
            n: tf.cast(v, tf.float32).numpy() for n, v in zip(names, self._last, strict=False)
        }
        return values


class _Stack(_Peer):
    def prepare(self, problem, x, dy, weights, training):
        p = problem
        if p.dropout:
            raise Unsupported("problems without dropout only")
        flat = [w.ravel() for ws in weights for w in ws[:2]] + [b for ws in weights for b in ws[2:]]
        dtype = tf.as_dtype(p.dtype)
        x, params, dy = (tf.cast(v, dtype) for v in (x, np.concatenate(flat), dy))
        h = tf.zeros((p.L * p.D, p.B, p.H), dtype)
        # WHY made once: an eager tf.zeros takes longer than a short call.
        c = h if p.cell == "lstm" else tf.zeros((), dtype)
        lengths = tf.fill((p.B,), p.T)

        network = {
            "rnn_mode": _MODES[p.cell],
            "direction": "bidirectional" if p.D == 2 else "unidirectional",
        }
        call = self._op(p, params, network, training)

        def forward(x, params):
            return call(
                input=x,
                input_h=h,
                input_c=c,
                params=params,
                sequence_lengths=lengths,
                **network,
            )[0]

        self._trace(forward, [x, params], dy, training)

    def _op(self, problem, params, network, training):
        """The result of one call."""
        return functools.partial(self.ops.CudnnRNNV3, is_training=training)


class _Packed(_Stack):
    """Inference with weights that are packed before, as in oneDNN."""

    int8 = True

    def prepare(self, problem, x, dy, weights, training):
        if problem.dtype != "int8":
            super().prepare(problem, x, dy, weights, training)
            return
        if training:
            raise Unsupported("inference only")
        forward = ours_int8.make_forward(self.ops, problem, _MODES[problem.cell], weights)
        self._trace(forward, [tf.constant(x)], dy, training)

    def _op(self, problem, params, network, training):
        if training:
            raise Unsupported("inference only")
        sizes = {
            "num_layers": problem.L,
            "num_units": problem.H,
            "input_size": problem.I,
        }
        packed = self.ops.PackCudnnRNNParams(params=params, **sizes, **network)
        return functools.partial(self.ops.CudnnRNNV3Packed, packed=packed)


class _Block(_Peer):
    def prepare(self, problem, x, dy, weights, training):
        p = problem
        if (p.cell, p.L, p.D, p.dtype, p.dropout) != ("lstm", 1, 1, "float32", 0):
            raise Unsupported("one unidirectional float32 LSTM layer only")
        w_ih, w_hh, b_ih, b_hh = weights[0]
        # Columns i, f, ci, o: the order of the shared weights.
        w = tf.constant(np.concatenate([w_ih.T, w_hh.T]))
        zeros, peephole = tf.zeros((p.B, p.H)), tf.zeros((p.H,))

        x, b, dy = tf.constant(x), tf.constant(b_ih + b_hh), tf.constant(dy)
        shared = dict(
            seq_len_max=tf.constant(p.T, tf.int64),
            cs_prev=zeros,
            h_prev=zeros,
            wci=peephole,
            wcf=peephole,
            wco=peephole,
            use_peephole=False,
        )

        # WHY the gradient op by name: TensorFlow 2.21 registers the gradient op of BlockLSTM for
        # BlockLSTMV2, but BlockLSTM has another order of gates.
        def step():
            result = self.ops.BlockLSTMV2(x=x, w=w, b=b, cell_clip=0.0, **shared)
            if not training:
                return [result.h]
            gradients = self.ops.BlockLSTMGradV2(
                x=x, w=w, b=b, cs_grad=tf.zeros_like(dy), h_grad=dy, **result._asdict(), **shared
            )
            return [result.h, gradients.x_grad, gradients.w_grad, gradients.b_grad]

        self._step = tf.function(step)
