"""Layers that run a whole recurrent stack, with all layers and directions, in one CudnnRNNV3."""

import keras

from tf_rnn_ops.keras.layers.stack_layer import CudnnStack

_PACKAGE = "tf_rnn_ops"


@keras.saving.register_keras_serializable(package=_PACKAGE)
class CudnnLSTM(CudnnStack):
    """Several LSTM layers, in one or both directions, in one op, with all weights in one vector.

    Letters: T time steps, B batch, I input size, H units, L num_layers, D directions, S the size
    of a hidden state (num_proj if that is set, otherwise H).

    Args:
        units: H, at least 1. All other arguments are keyword arguments.
        num_layers: L, at least 1. Layer k reads the output of layer k - 1.
        direction: 'unidirectional', or 'bidirectional' for a second direction in each layer.
        dropout: Fraction, in [0, 1], of the inputs of each layer except the first that is dropped in
            training. No effect with one layer.
        input_mode: 'linear_input'; 'skip_input' for a first layer without input weights, which needs
            I == H; or 'auto_select', which is 'skip_input' if I == H.
        num_proj: Size of the projected hidden state, at most H; 0 or None for no projection. LSTM only.
        return_sequences: Whether to return the output of every step, rather than the output of the last
            valid step.
        return_state: Whether to return also the final states.
        time_major: Whether inputs, outputs and masks have time first, and states layers first.
        kernel_initializer: Initializer of the input weights of each layer and direction, as a matrix
            [inputs, G*H] for G gates, and of the projections.
        recurrent_initializer: Initializer of the recurrent weights, as a matrix [S, G*H].
        bias_initializer: Initializer of the input biases [G*H]. The recurrent biases start at 0.
        unit_forget_bias: Whether the input bias of an LSTM's forget gate starts at 1.
        use_bias: Whether there are biases. If not, the buffer has zeros for them, without a gradient.
        kernel_regularizer: Regularizer of each matrix that kernel_initializer draws.
        recurrent_regularizer: Regularizer of each recurrent matrix.
        bias_regularizer: Regularizer of the bias of each layer and direction: of the sum [G*H] of the two
            biases, or of both biases [2, 3*H] for a GRU.
        kernel_constraint: Constraint of each matrix that kernel_initializer draws.
        recurrent_constraint: Constraint of each recurrent matrix.
        bias_constraint: Constraint of each of the two biases of a layer and direction.
        go_backwards: Whether to run each sequence from its last valid step to its first. Step t of the
            input then becomes step T - 1 - t of the output, as in Keras.
        stateful: Whether each call begins with the final states of the previous call. The batch size must
            be known and the same in each call. reset_state() sets the states to 0.
        seed: Seed of dropout: an integer, a keras.random.SeedGenerator, or None for an integer from
            Python's `random`, which keras.utils.set_random_seed seeds.
        activity_regularizer: As for every Keras layer. It needs time_major=False, because Keras expects the
            batch in the first dimension.
        name, dtype, trainable, input_shape: As for every Keras layer.

    There is no recurrent_dropout. keras.layers.Bidirectional accepts the layer. It runs two stacks and
    joins their outputs at the end, whereas direction='bidirectional' joins the directions after each
    layer. With return_sequences, Bidirectional needs time_major=False, because it reverses the second
    dimension of the output.

    The layer has every property of keras.layers.LSTM. CudnnGRU has the properties of GRU; CudnnRNNTanh and
    CudnnRNNRelu have the properties of SimpleRNN.

    Attributes:
        params: The weight, a vector in the order of docs/raw-ops.md.
        layout: The tf_rnn_ops.params.Layout of `params`. Both exist once the layer is built.
        seed_generator: The keras.random.SeedGenerator of dropout, whose state is a variable of the
            layer and in its checkpoints; None without dropout between layers. Each replica of a
            tf.distribute strategy drops other elements.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import CudnnLSTM
        >>> layer = CudnnLSTM(8, num_layers=2, direction="bidirectional")
        >>> tuple(layer(keras.ops.ones((4, 10, 3)), sequence_lengths=[10, 7, 1, 0]).shape)
        (4, 16)
    """

    rnn_mode = "lstm"
    recurrent_activation = staticmethod(keras.activations.sigmoid)


@keras.saving.register_keras_serializable(package=_PACKAGE)
class CudnnGRU(CudnnStack):
    """Several GRU layers, in one or both directions, in one op. The reset gate is as in keras.layers.GRU.

    The arguments are the arguments of CudnnLSTM. num_proj must be 0, and unit_forget_bias has no effect.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import CudnnGRU
        >>> tuple(CudnnGRU(8, num_layers=2)(keras.ops.ones((4, 10, 3))).shape)
        (4, 8)
    """

    rnn_mode = "gru"
    recurrent_activation = staticmethod(keras.activations.sigmoid)
    reset_after = True


@keras.saving.register_keras_serializable(package=_PACKAGE)
class CudnnRNNTanh(CudnnStack):
    """Several SimpleRNN layers with tanh, in one or both directions, in one op.

    The arguments are the arguments of CudnnLSTM. num_proj must be 0, and unit_forget_bias has no effect.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import CudnnRNNTanh
        >>> tuple(CudnnRNNTanh(8, num_layers=2)(keras.ops.ones((4, 10, 3))).shape)
        (4, 8)
    """

    rnn_mode = "rnn_tanh"


@keras.saving.register_keras_serializable(package=_PACKAGE)
class CudnnRNNRelu(CudnnStack):
    """Several SimpleRNN layers with relu, in one or both directions, in one op.

    The arguments are the arguments of CudnnLSTM. num_proj must be 0, and unit_forget_bias has no effect.

    Example:
        >>> import keras
        >>> from tf_rnn_ops.keras import CudnnRNNRelu
        >>> tuple(CudnnRNNRelu(8, num_layers=2)(keras.ops.ones((4, 10, 3))).shape)
        (4, 8)
    """

    rnn_mode = "rnn_relu"
    activation = staticmethod(keras.activations.relu)
