"""Makes the layers of Keras that compute the function of a stack."""

import keras

from tf_rnn_ops.keras.layers import policies
from tf_rnn_ops.keras.layers.cudnn import CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh

# Only these classes: a subclass of CudnnStack may compute anything.
STACKS = (CudnnLSTM, CudnnGRU, CudnnRNNTanh, CudnnRNNRelu)

# {rnn_mode: (class of Keras, its arguments for the same function)}.
_CLASSES = {
    "lstm": (keras.layers.LSTM, {}),
    "gru": (keras.layers.GRU, {"reset_after": True}),
    "rnn_tanh": (keras.layers.SimpleRNN, {"activation": "tanh"}),
    "rnn_relu": (keras.layers.SimpleRNN, {"activation": "relu"}),
}
_SAME_ARGUMENTS = (
    *("units", "use_bias", "stateful", "kernel_initializer", "recurrent_initializer"),
    *("bias_initializer", "kernel_regularizer", "recurrent_regularizer", "bias_regularizer"),
    *("kernel_constraint", "recurrent_constraint"),
)


def reason_against(stack):
    """Tells why no layers of Keras compute the function of a stack.

    Args:
        stack: A layer of one of STACKS.

    Returns:
        The predicate of a sentence on the stack, or None if there are such layers.
    """
    layout = stack.layout if stack.built else stack.make_layout(stack.units)
    if layout.num_proj:
        return f"has num_proj={layout.num_proj}; Keras has no LSTM with a projection"
    if layout.input_mode == "skip_input":
        return (
            f"has input_mode={stack.input_mode!r} and no input weights in its first layer, but Keras's "
            "layers have input weights; tf_rnn_ops.params.to_keras makes identity matrices"
        )
    if stack.time_major:
        return "has time_major=True; Keras's layers need the batch first"
    if stack.activity_regularizer is not None:
        return "has an activity_regularizer, which Keras's layers apply to other values"
    if stack.bias_constraint is not None:
        return (
            "has a bias_constraint for each of its two biases; Keras's layers constrain their sum"
        )
    if stack.seed_generator is not None and stack.dropout == 1:
        return "has dropout=1, which Keras's Dropout does not accept"
    return None


def level(stack, k, with_states, in_two, prefix):
    """Makes the layers of Keras for one layer of a stack. They are not built.

    Args:
        stack: A layer of one of STACKS without a reason_against.
        k: The number of the layer in the stack.
        with_states: Whether the layers return their states.
        in_two: Whether a bidirectional stack becomes a layer for each direction, rather than a
            Bidirectional.
        prefix: The prefix of the names.

    Returns:
        A list of one layer, or of the forward and the backward layer.
    """
    cls, arguments = _CLASSES[stack.rnn_mode]
    sequences = stack.return_sequences or k + 1 < stack.num_layers
    arguments = {
        **arguments,
        **{name: _fresh(getattr(stack, name)) for name in _SAME_ARGUMENTS},
        "dtype": policies.policy_of(stack),
        **({"unit_forget_bias": stack.unit_forget_bias} if stack.rnn_mode == "lstm" else {}),
        "return_sequences": sequences,
        "return_state": with_states,
        "zero_output_for_mask": sequences,
        "trainable": stack.trainable,
    }
    name = prefix if stack.num_layers == 1 else f"{prefix}_{k}"
    if stack.direction != "bidirectional":
        return [cls(**arguments, go_backwards=stack.go_backwards, name=name)]
    if in_two:
        backwards = stack.go_backwards
        return [
            cls(**arguments, go_backwards=backwards, name=f"forward_{name}"),
            cls(**arguments, go_backwards=not backwards, name=f"backward_{name}"),
        ]
    options = {option: arguments[option] for option in ("dtype", "trainable")}
    try:
        return [keras.layers.Bidirectional(cls(**arguments, name=name), name=name, **options)]
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ValueError(
            f"The layer {stack.name!r} cannot become layers of Keras, since Bidirectional copies its "
            f"layers through get_config and from_config, which fails: {error}"
        ) from error


def _fresh(value):
    """A copy of an initializer, which draws other numbers for each layer.

    Other values are returned unchanged.
    """
    is_class = isinstance(value, keras.initializers.Initializer)
    return type(value).from_config(value.get_config()) if is_class else value


def dropout(stack, k, prefix):
    """Makes the Dropout layer behind layer k of a stack."""
    seed = stack.seed + k if isinstance(stack.seed, int) else None
    name = f"{prefix}_dropout_{k}"
    return keras.layers.Dropout(
        stack.dropout, seed=seed, dtype=policies.policy_of(stack), name=name
    )
