"""LSTM, GRU, SimpleRNN and RNN: keras.layers.* with the loop over time in one op."""

import keras

from tf_rnn_ops import _seeds
from tf_rnn_ops.keras._internals.layers import is_set_by_keras
from tf_rnn_ops.keras.layers import cell_options, options
from tf_rnn_ops.keras.path import eligibility, fused

_PACKAGE = "tf_rnn_ops"


def jit_property(concerns=lambda layer: True):
    """Makes the property that tells Keras whether to hand a layer to XLA; of others Keras's stands.

    `compile` asks every layer for `supports_jit`. Keras's answer, which may be no for its own use of
    cuDNN, stands where the layer runs Keras's loop. False from anybody else stands everywhere.
    """

    def get(layer):
        try:
            wanted = layer.__dict__["supports_jit"]
        except KeyError:
            # Keras drops the assignment of a value that it finds already there.
            raise AttributeError("supports_jit is not set yet") from None
        if layer.__dict__.get("_jit_forbidden"):
            return False
        if not concerns(layer) or eligibility.loop_reason(layer) is not None:
            return wanted
        return eligibility.xla_reason() is None

    def set_(layer, value):
        layer.__dict__["supports_jit"] = value
        # Keras's own constructors forbid XLA for cuDNN.
        layer.__dict__["_jit_forbidden"] = not value and not is_set_by_keras()

    return property(get, set_, doc="Whether Keras may compile the layer with XLA.")


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

    def __repr__(self):
        return with_package(self, super().__repr__())


def with_package(layer, text):
    """Keras's `repr` of a layer with the package of its class, by which ours differs from Keras's."""
    name = type(layer).__name__
    package = type(layer).__module__
    if package.startswith("tf_rnn_ops."):
        package = "tf_rnn_ops.keras"
    return text.replace(name, f"{package}.{name}", 1)


class _WithOwnCell(OneOp):
    """What the layers override that make their cell."""

    def get_config(self):
        """Returns the arguments of the constructor, those included that Keras leaves out."""
        config = {**super().get_config(), **cell_options.implementation(self.cell)}
        use_cudnn = getattr(self, "use_cudnn", "auto")
        return config if use_cudnn == "auto" else {**config, "use_cudnn": use_cudnn}


@keras.saving.register_keras_serializable(package=_PACKAGE)
@options.spelled_out
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
@options.spelled_out
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
@options.spelled_out
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
@options.spelled_out
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

    def get_config(self):
        """Returns the arguments of the constructor, those of the cells included that Keras leaves out."""
        config = super().get_config()
        cell_options.complete(config["cell"], self.cell)
        return config
