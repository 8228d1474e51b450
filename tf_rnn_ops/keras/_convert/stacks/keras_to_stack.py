"""Makes the stack that computes the function of a chain of Keras's layers."""

import collections

import keras

from tf_rnn_ops.keras._convert.stacks.counterparts import STACKS
from tf_rnn_ops.keras.layers import jit_flag, policies
from tf_rnn_ops.keras.layers.drop_in import GRU, LSTM, SimpleRNN
from tf_rnn_ops.keras.path.activations import name_of as activation_name
from tf_rnn_ops.params import from_keras
from tf_rnn_ops.params.keras.internals import flatten_layers

_KINDS = {
    **dict.fromkeys((keras.layers.LSTM, LSTM), "lstm"),
    **dict.fromkeys((keras.layers.GRU, GRU), "gru"),
    **dict.fromkeys((keras.layers.SimpleRNN, SimpleRNN), "rnn"),
}
_CLASSES = {cls.rnn_mode: cls for cls in STACKS}
# Arguments that are equal for all layers of a chain, and become arguments of the stack.
_COMMON = (
    *("units", "use_bias", "kernel_regularizer", "recurrent_regularizer", "bias_regularizer"),
    *("kernel_constraint", "recurrent_constraint", "trainable"),
)
_FIRST = ("kernel_initializer", "recurrent_initializer", "bias_initializer")
# {argument that stacks lack: its value without effect}.
_ABSENT = {
    **{"dropout": 0, "recurrent_dropout": 0, "unroll": False, "stateful": False},
    **{"return_state": False, "activity_regularizer": None, "bias_constraint": None},
}


def is_recurrent(layer):
    """Whether a layer is of a class whose function a stack can compute."""
    return type(_forward(layer)) in _KINDS


def reason_against(layer):
    """Tells why no stack computes the function of a recurrent layer; None if a stack does."""
    if not layer.built:
        return "is not built"
    ones = _directions(layer)
    for one in ones:
        if type(one) not in _KINDS:
            return f"holds a {type(one).__name__}"
        if _rnn_mode(one) is None:
            return "has activations or reset_after=False, which stacks do not support"
    if len(ones) == 2 and (reason := _reason_against_two(layer, *ones)):
        return reason
    for one, backwards in zip(ones, (False, True)):
        for name, value in {"go_backwards": backwards, **_ABSENT}.items():
            if getattr(one, name) != value:
                return f"has {name}={getattr(one, name)!r}"
    if len({variable.trainable for variable in layer.weights}) > 1:
        return "is partly frozen"
    return None


def _reason_against_two(layer, forward, backward):
    """Like reason_against, for the arguments of a Bidirectional layer."""
    if layer.merge_mode != "concat":
        return f"has merge_mode={layer.merge_mode!r}"
    if layer.activity_regularizer is not None:
        return "has an activity_regularizer"
    if _rnn_mode(forward) != _rnn_mode(backward) or _common(forward) != _common(backward):
        return "has a backward layer with other arguments"
    names = [policies.name_of(one) for one in (layer, forward)]
    if names[0] != names[1]:
        return f"has the dtype policy {names[0]!r} around layers of {names[1]!r}"
    return None


def fits(before, layer):
    """Whether a layer can follow another layer in one stack. Both must have no reason_against."""

    def traits(one):
        both = type(one) is keras.layers.Bidirectional
        return both, _is_trained(one), _rnn_mode(_forward(one)), _common(_forward(one))

    return traits(before) == traits(layer)


class Chain:
    """Layers of Keras that a stack replaces.

    Attributes:
        layers: The recurrent layers, from the first to the last.
        dropouts: The Dropout layers between them; empty without dropout.
        stack: The stack.
    """

    def __init__(self, layers, dropouts):
        """Creates the stack.

        Args:
            layers: The recurrent layers. Each fits the previous one.
            dropouts: The Dropout layers between them, all with one rate; may be empty.
        """
        self.layers, self.dropouts = layers, dropouts
        first = _forward(layers[0])
        # WHY attributes, not a config: regularizers and functions of users may have no config.
        options = {name: getattr(first, name) for name in (*_COMMON, *_FIRST)}
        options["dtype"] = policies.policy_of(first)
        if _rnn_mode(first) == "lstm":
            options["unit_forget_bias"] = first.unit_forget_bias
        seed = dropouts[0].seed if dropouts else None
        self.stack = _CLASSES[_rnn_mode(first)](
            **options,
            num_layers=len(layers),
            direction="unidirectional" if first is layers[0] else "bidirectional",
            dropout=dropouts[0].rate if dropouts else 0.0,
            seed=seed if isinstance(seed, int) else None,
            return_sequences=_forward(layers[-1]).return_sequences,
            name=layers[0].name,
        )

    def __call__(self, x, mask=None, training=None, initial_state=None):
        """Calls the stack in place of the first layer. The later layers return their input.

        Args:
            x: The sequences.
            mask: The mask of the sequences, or None.
            training: The argument of the layers.
            initial_state: None. A call of the first layer may pass None explicitly.
        """
        given = {"mask": mask, "training": training}
        return self.stack(x, **{name: value for name, value in given.items() if value is not None})

    @property
    def replaced(self):
        """The replaced layers of the model, and their replacements in the copy."""
        return [*self.layers, *self.dropouts, self.stack]

    @property
    def old(self):
        """The weights of the layers."""
        return [variable for layer in self.layers for variable in layer.weights]

    @property
    def new(self):
        """The weight of the stack."""
        return [self.stack.params]

    def transfer(self, values, summed):
        """Converts values for `old` to values for `new`; see KerasStack.transfer."""
        arrays, levels = iter(map(keras.ops.convert_to_numpy, values)), []
        for layer in self.layers:
            levels.append([next(arrays) for _ in layer.weights])
        mode = _rnn_mode(_forward(self.layers[0]))
        layout, buffer = from_keras(levels, mode if mode.startswith("rnn") else None)
        if not summed and mode != "gru":
            for inputs, states in _bias_blocks(layout):
                buffer[states.offset : states.end] = buffer[inputs.offset : inputs.end]
        return [buffer]

    def carry_flags(self):
        """Copies the flags `trainable` and `supports_jit` of the layers to the stack."""
        jit_flag.carry(
            [one for layer in self.layers for one in flatten_layers(layer)], [self.stack]
        )
        trained = _is_trained(self.layers[0])
        if self.stack.trainable != trained:
            self.stack.trainable = trained


def _bias_blocks(layout):
    """Pairs of the input bias and the recurrent bias of each gate."""
    found = collections.defaultdict(dict)
    for block in layout.biases:
        found[block.layer, block.direction, block.gate][block.source] = block
    return [(pair["input"], pair["recurrent"]) for pair in found.values()]


def _directions(layer):
    if type(layer) is keras.layers.Bidirectional:
        return [layer.forward_layer, layer.backward_layer]
    return [layer]


def _forward(layer):
    return _directions(layer)[0]


def _is_trained(layer):
    return bool(layer.trainable_variables)


def _common(layer):
    values = [getattr(layer, name) for name in _COMMON]
    return list(map(_comparable, [*values, policies.policy_of(layer)]))


def _comparable(value):
    """A value that is equal for equivalent objects. It is the object itself if that has no get_config."""
    try:
        return (type(value), value.get_config()) if hasattr(value, "get_config") else value
    except NotImplementedError:
        return value


def _rnn_mode(layer):
    """The rnn_mode of a stack for the layer, or None if no mode has its activations."""
    kind, activation = _KINDS.get(type(layer)), activation_name(getattr(layer, "activation", None))
    if kind == "rnn":
        return {"tanh": "rnn_tanh", "relu": "rnn_relu"}.get(activation)
    if kind is None or activation != "tanh":
        return None
    if activation_name(layer.recurrent_activation) != "sigmoid":
        return None
    return None if kind == "gru" and not layer.reset_after else kind
