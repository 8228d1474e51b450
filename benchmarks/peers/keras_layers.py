"""keras.layers.LSTM, GRU and SimpleRNN on TensorFlow and our layers, plain or compiled by XLA."""

import keras
import numpy as np
import tensorflow as tf

from benchmarks.peers import Unsupported, tensorflow_peer
from benchmarks.problems import CELLS, LAYER_CELLS


def make(variant, threads, device=""):
    tensorflow_peer.set_up(threads, device)
    jit = variant.endswith("jit")
    if variant.startswith("ours"):
        import tf_rnn_ops.keras

        return _Keras(tf_rnn_ops.keras, tensorflow_peer.our_version(), jit)
    version = f"keras {keras.__version__}, tensorflow {tf.__version__}"
    return _Keras(keras.layers, version, jit)


def _gates(cell, matrix):
    """[G*H, n] to Keras's [n, G*H] with its gate order."""
    if cell == "gru":
        r, z, n = np.split(matrix, 3)
        matrix = np.concatenate([z, r, n])
    return np.ascontiguousarray(matrix.T)


def _own(name, layers, problem, weights, extra):
    """A layer of this package, or Keras's implementation over its cell, since Keras has no such layer."""
    import tf_rnn_ops.keras

    p = problem
    # As in layer(): the values are set below.
    zeros = {"kernel_initializer": "zeros", "recurrent_initializer": "zeros"}
    extra = {"dtype": p.dtype, **zeros, **extra}
    if name == "ProjectedLSTM":
        extra["num_proj"] = p.S
    if layers is keras.layers:
        cell = getattr(tf_rnn_ops.keras, f"{name}Cell")(p.H, **extra)
        layer = layers.RNN(cell, return_sequences=True, dtype=p.dtype)
    else:
        layer = getattr(layers, name)(p.H, return_sequences=True, **extra)
    (w_ih, w_hh, b_ih, b_hh), *_ = weights
    layer.build((p.B, p.T, w_ih.shape[1]))
    values = {"kernel": w_ih.T, "recurrent_kernel": w_hh.T, "bias": b_ih + b_hh}
    for weight in layer.weights:
        drawn = np.random.default_rng(0).uniform(-0.1, 0.1, weight.shape)
        weight.assign(values.get(weight.name, drawn))
    return layer


def layer(layers, problem, weights):
    p = problem
    kinds = {"lstm": layers.LSTM, "gru": layers.GRU}
    cell, extra = LAYER_CELLS.get(p.cell, (p.cell, {}))
    if cell.endswith("LSTM"):
        return _own(cell, layers, p, weights, extra)
    kind = kinds.get(cell, layers.SimpleRNN)
    extra = {**extra, **({} if cell in kinds else {"activation": cell})}
    # The values are set below. The default initializer of the recurrent kernel does not support bfloat16.
    extra.update(kernel_initializer="zeros", recurrent_initializer="zeros")
    if p.dropout:
        extra.update(dropout=p.dropout, recurrent_dropout=p.dropout)

    def single(**kw):
        return kind(p.H, return_sequences=True, dtype=p.value_dtype, **kw, **extra)

    layer = keras.layers.Bidirectional(single()) if p.D == 2 else single()
    size = weights[0][0].shape[1]
    layer.build((p.B, p.T, size))
    values = []
    for w_ih, w_hh, b_ih, b_hh in weights:
        bias = [b_ih + b_hh]
        if cell == "gru" and extra.get("reset_after", True):
            bias = [np.stack([_gates("gru", b[:, None])[0] for b in (b_ih, b_hh)])]
        elif cell == "gru":
            bias = [_gates("gru", bias[0][:, None])[0]]
        values += [_gates(cell, w_ih), _gates(cell, w_hh)] + bias
    layer.set_weights(values)
    if p.dtype == "int8":
        layer.quantize("int8")
    return layer


class _Keras(tensorflow_peer.TensorFlowPeer):
    cells = (*CELLS, *LAYER_CELLS)

    def __init__(self, layers, version, jit=False):
        self.layers = layers
        self.jit = jit
        self.version = version
        self.int8 = layers is not keras.layers

    def prepare(self, problem, x, dy, weights, training):
        p = problem
        if p.dtype != "float32" and self.jit:
            raise Unsupported("float32 only with jit")
        if p.dtype == "int8" and training:
            raise Unsupported("inference only")
        layers = [layer(self.layers, p, weights[i * p.D : (i + 1) * p.D]) for i in range(p.L)]
        x = tf.cast(tf.constant(x.transpose(1, 0, 2)), p.value_dtype)
        dy = tf.cast(tf.constant(dy.transpose(1, 0, 2)), p.value_dtype)
        variables = [v.value for layer in layers for v in layer.trainable_variables]

        def forward(x, training):
            for layer in layers:
                x = layer(x, training=training)
            return x

        def step():
            if not training:
                return [forward(x, False)]
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = forward(x, True)
            return [y] + tape.gradient(y, [x] + variables, dy)

        self._step = tf.function(step, jit_compile=self.jit)
        # Each library draws other masks, so the results without dropout are compared.
        self._without_dropout = tf.function(lambda: forward(x, False)) if p.dropout else None

    def result(self):
        if self._without_dropout is not None:
            return {"y": self._without_dropout().numpy().swapaxes(0, 1)}
        return {n: v.swapaxes(0, 1) for n, v in super().result().items()}
