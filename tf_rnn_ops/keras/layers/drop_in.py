"""LSTM, GRU, SimpleRNN and RNN: keras.layers.* with the loop over time in one op."""

import keras

from tf_rnn_ops import _seeds
from tf_rnn_ops.keras.path import eligibility, fused

_PACKAGE = "tf_rnn_ops"


def jit_property(concerns=lambda layer: True):
    """Makes the property that tells Keras whether to hand a layer to XLA; of others Keras's stands.

    `compile` asks every layer for `supports_jit`. Keras's answer, which may be no for its own use of
    cuDNN, stands where the layer runs Keras's loop.
    """

    def get(layer):
        try:
            wanted = layer.__dict__["supports_jit"]
        except KeyError:
            # Keras drops the assignment of a value that it finds already there.
            raise AttributeError("supports_jit is not set yet") from None
        if not concerns(layer) or eligibility.loop_reason(layer) is not None:
            return wanted
        return eligibility.xla_reason() is None

    def set_(layer, value):
        layer.__dict__["supports_jit"] = value

    return property(get, set_, doc="Whether Keras may compile the layer with XLA.")


def path_options(layer):
    """The options that choose the path, as far as they differ from the default.

    Keras leaves them out of its configs. Here a layer without them may take another path, or drop other
    inputs.
    """
    options = {}
    use_cudnn = getattr(layer, "use_cudnn", "auto")
    if use_cudnn != "auto":
        options["use_cudnn"] = use_cudnn
    # recurrent_dropout sets it to 1 by itself.
    default = 1 if layer.cell.recurrent_dropout else 2
    if getattr(layer.cell, "implementation", default) != default:
        options["implementation"] = layer.cell.implementation
    return options


class OneOp:
    """What all layers override."""

    supports_jit = jit_property()

    def inner_loop(self, sequences, initial_state, mask, training=False):
        """Runs all time steps; see keras.layers.RNN."""
        return fused.inner_loop(self, super().inner_loop, sequences, initial_state, mask, training)

    def rematerialized_call(self, fn, *args, **kwargs):
        """Lets keras.RematScope drop the same units when it computes again; see keras.Operation."""
        cells = [c for c in eligibility.cells_of(self) if hasattr(c, "seed_generator")]
        seeds = [cell.seed_generator for cell in cells]
        return super().rematerialized_call(_seeds.replayed(fn, seeds), *args, **kwargs)


class _WithOwnCell(OneOp):
    """What the layers override that make their cell."""

    def get_config(self):
        """Returns the arguments of the constructor, those included that Keras leaves out."""
        return {**super().get_config(), **path_options(self)}


@keras.saving.register_keras_serializable(package=_PACKAGE)
class LSTM(_WithOwnCell, keras.layers.LSTM):
    """keras.layers.LSTM with the loop over time in one op, forward and backward.

    Arguments, weights, config and results are those of keras.layers.LSTM; weight files fit both.
    Every mask is taken: padding left or right, holes, rows without a valid step.

    Keras's own loop runs, with the same result, where the op cannot compute what is asked: activations
    other than tanh, sigmoid, hard_sigmoid, relu and linear, unroll=True and use_cudnn=False; where
    TensorFlow sees a GPU also under XLA, with activations other than Keras's defaults, and in training
    with recurrent_dropout or with implementation=1 and dropout, none of which cuDNN does. `explain`
    tells.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.LSTM(4, return_sequences=True)
        >>> tuple(layer(tf.ones([2, 5, 3])).shape)
        (2, 5, 4)
    """


@keras.saving.register_keras_serializable(package=_PACKAGE)
class GRU(_WithOwnCell, keras.layers.GRU):
    """keras.layers.GRU with the loop over time in one op, forward and backward.

    As tf_rnn_ops.keras.LSTM. The op takes both values of reset_after; where TensorFlow sees a GPU,
    Keras's loop runs with reset_after=False, which cuDNN does not have.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> tuple(tf_rnn_ops.keras.GRU(4)(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """


@keras.saving.register_keras_serializable(package=_PACKAGE)
class SimpleRNN(_WithOwnCell, keras.layers.SimpleRNN):
    """keras.layers.SimpleRNN with the loop over time in one op, forward and backward.

    As tf_rnn_ops.keras.LSTM; on a GPU the op computes the activations tanh and relu.

    Example:
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> tuple(tf_rnn_ops.keras.SimpleRNN(4, activation="relu")(tf.ones([2, 5, 3])).shape)
        (2, 4)
    """


@keras.saving.register_keras_serializable(package=_PACKAGE)
class RNN(OneOp, keras.layers.RNN):
    """keras.layers.RNN with the loop over time in one op for each cell, forward and backward.

    Of cells that are exactly keras.layers.LSTMCell, GRUCell or SimpleRNNCell, one alone, a list of
    them, or StackedRNNCells. Otherwise as tf_rnn_ops.keras.LSTM: Keras's loop runs where one of the
    cells needs it.

    Example:
        >>> import keras
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.keras
        >>> cells = [keras.layers.LSTMCell(4), keras.layers.GRUCell(3)]
        >>> tuple(tf_rnn_ops.keras.RNN(cells)(tf.ones([2, 5, 3])).shape)
        (2, 3)
    """
