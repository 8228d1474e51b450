"""The ops of tf_rnn_ops, as users call them, and TensorFlow's own ops of the same names."""

import functools

import numpy as np
import tensorflow as tf

from benchmarks.peers import Unsupported, ours_int8, tensorflow_peer

_MODES = {"lstm": "lstm", "gru": "gru", "tanh": "rnn_tanh", "relu": "rnn_relu"}


def make(variant, threads, device=""):
    """Variants are the keys of _KINDS with " batch major", " random lengths" or, for TensorFlow's, "TF-"."""
    tensorflow_peer.set_up(threads, device)
    stock = variant.startswith("TF-")
    kind = _KINDS[variant.removeprefix("TF-").split()[0]]
    if stock:
        peer = kind(tf.raw_ops, f"tensorflow {tf.__version__}")
    else:
        import tf_rnn_ops

        peer = kind(tf_rnn_ops.raw_ops, tensorflow_peer.our_version())
    peer.jit, peer.traced = variant == "jit", variant == "jit" or bool(device)
    peer.time_major, peer.random_lengths = "batch major" not in variant, "random" in variant
    return peer


class _Peer(tensorflow_peer.TensorFlowPeer):
    """Calls `forward(*variables)`, in training with its gradients.

    In a tf.function in training, on a device, and with jit, which XLA then compiles.
    """

    def __init__(self, ops, version):
        self.ops = ops
        self.version = version

    def _trace(self, forward, variables, dy, training):
        def step():
            if not training:
                return [forward(*variables)]
            with tf.GradientTape() as tape:
                tape.watch(variables)
                y = forward(*variables)
            return [y] + tape.gradient(y, variables, dy)

        function = tf.function(step, jit_compile=self.jit)
        self._step = function if training or self.traced else step


class _Stack(_Peer):
    def prepare(self, problem, x, dy, weights, training):
        p = problem
        if p.dropout:
            raise Unsupported("problems without dropout only")
        flat = [w.ravel() for ws in weights for w in ws[:2]] + [b for ws in weights for b in ws[2:]]
        dtype = tf.as_dtype(p.dtype)
        x, dy = self._major(x), self._major(dy)
        x, params, dy = (tf.cast(v, dtype) for v in (x, np.concatenate(flat), dy))
        h = tf.zeros(self._state_shape(p), dtype)
        # WHY made once: an eager tf.zeros takes longer than a short call.
        c = h if p.cell == "lstm" else tf.zeros((), dtype)
        lengths = self._lengths(p)

        network = {
            "rnn_mode": _MODES[p.cell],
            "direction": "bidirectional" if p.D == 2 else "unidirectional",
        }
        call = self._op(p, params, network, training)
        if not self.time_major:
            network["time_major"] = False

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

    def _major(self, values):
        """[T, B, n] as the op takes it."""
        return values if self.time_major else np.ascontiguousarray(values.swapaxes(0, 1))

    def _state_shape(self, p):
        return (p.L * p.D, p.B, p.H) if self.time_major else (p.B, p.L * p.D, p.H)

    def _lengths(self, p):
        """The lengths, int32 [B]. Random ones, uniform over 1..T, are the same in every run."""
        if not self.random_lengths:
            return tf.fill((p.B,), p.T)
        drawn = np.random.default_rng(7).integers(1, p.T + 1, p.B)
        return tf.constant(drawn.astype(np.int32))

    def result(self):
        # Results of other lengths are not compared.
        found = {} if self.random_lengths else super().result()
        return found if self.time_major else {n: v.swapaxes(0, 1) for n, v in found.items()}


class _Layer(_Stack):
    """LayerRNN."""

    def prepare(self, problem, x, dy, weights, training):
        p = problem
        if (p.L, p.D, p.dtype, p.dropout) != (1, 1, "float32", 0):
            raise Unsupported("one unidirectional float32 layer only")
        mode = _MODES[p.cell]
        x, dy = tf.constant(self._major(x)), tf.constant(self._major(dy))
        kernel, recurrent, bias = ours_int8.layer_weights(mode, weights[0]).values()
        h, lengths = tf.zeros((p.B, p.H)), self._lengths(p)
        c = h if p.cell == "lstm" else tf.zeros(())

        def forward(x, kernel, recurrent, bias):
            return self.ops.LayerRNN(
                input=x,
                input_h=h,
                input_c=c,
                kernel=kernel,
                recurrent_kernel=recurrent,
                bias=bias,
                sequence_lengths=lengths,
                rnn_mode=mode,
                is_training=training,
                time_major=self.time_major,
            ).output

        values = [tf.constant(w) for w in (kernel, recurrent, bias)]
        self._trace(forward, [x, *values], dy, training)


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


_KINDS = {"stack": _Stack, "layer": _Layer, "packed": _Packed, "block": _Block, "jit": _Stack}
