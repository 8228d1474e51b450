"""The options of a stack, and its way into files and out of other frameworks."""

import keras
import numpy as np

from tf_rnn_ops import _seeds
from tf_rnn_ops.keras.layers import numbers
from tf_rnn_ops.keras.layers.drop_in import with_package
from tf_rnn_ops.keras.path import eligibility
from tf_rnn_ops.params import Layout
from tf_rnn_ops.params.layout import num_directions

# Names in files of weights.
_SEED_STATE = "seed_state"
_NETWORK = "network"


class StackOptions(keras.layers.Layer):
    """A stack as far as it does not compute; CudnnLSTM explains the arguments."""

    rnn_mode: str  # the classes in stack.py set it

    # What Keras's layers have as properties.
    activation = staticmethod(keras.activations.tanh)
    recurrent_dropout = 0.0

    def __init__(
        self,
        units,
        *,
        num_layers=1,
        direction="unidirectional",
        dropout=0.0,
        input_mode="linear_input",
        num_proj=0,
        return_sequences=False,
        return_state=False,
        time_major=False,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias=True,
        use_bias=True,
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        go_backwards=False,
        stateful=False,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._set_network(units, num_layers, direction, input_mode, num_proj)
        self._set_dropout(dropout, seed)
        self.return_sequences = bool(return_sequences)
        self.return_state = bool(return_state)
        self.time_major = bool(time_major)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(recurrent_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.unit_forget_bias = bool(unit_forget_bias)
        self.use_bias = bool(use_bias)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = keras.regularizers.get(recurrent_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)
        self.recurrent_constraint = keras.constraints.get(recurrent_constraint)
        self.bias_constraint = keras.constraints.get(bias_constraint)
        self.go_backwards = bool(go_backwards)
        self.stateful = bool(stateful)
        self._state_h = self._state_c = None
        self._set_what_keras_reads()

    def _set_network(self, units, num_layers, direction, input_mode, num_proj):
        if not isinstance(units, (int, np.integer)) or units < 1:
            raise ValueError(f"units must be a positive integer, but it is {units!r}.")
        self.units = int(units)
        self.direction = direction
        self.num_directions = num_directions(direction)
        self.input_mode = input_mode
        self.num_layers = num_layers
        self.num_proj = 0 if num_proj is None else num_proj
        # The size of the input is not known yet; this one is legal with every input_mode.
        self.make_layout(input_size=self.units)
        # Not the numbers of NumPy, which JSON cannot write.
        self.num_layers, self.num_proj = int(self.num_layers), int(self.num_proj)

    def _set_dropout(self, dropout, seed):
        self.dropout = numbers.number("dropout", dropout)
        if not 0 <= self.dropout <= 1:
            raise ValueError(f"dropout must be in [0, 1], but it is {dropout!r}.")
        self.seed = _seeds.checked(seed)
        # Without dropout between layers there is no state.
        drops = self.dropout > 0 and self.num_layers > 1
        self.seed_generator = _seeds.generator(self.seed) if drops else None
        if drops:  # tf.train.Checkpoint does not look into generators
            self._seed_state = self.seed_generator.state.value

    def _set_what_keras_reads(self):
        if self.time_major and self.activity_regularizer is not None:
            raise ValueError(
                f"activity_regularizer of {self.name!r} must be None with time_major=True, because "
                "Keras divides by the first dimension, which is not the batch, but it is "
                f"{self.activity_regularizer!r}."
            )
        # Keras would round sequence_lengths that are floats to the compute type. `call` casts the rest.
        self.autocast = False
        self.supports_masking = True
        self.supports_jit = eligibility.xla_reason() is None
        self.input_spec = keras.layers.InputSpec(ndim=3)

    @property
    def hidden_size(self):
        """S: the size of a hidden state."""
        return self.num_proj or self.units

    def make_layout(self, input_size):
        """The Layout of the stack for an input size."""
        return Layout(
            self.rnn_mode,
            self.num_layers,
            self.units,
            input_size,
            input_mode=self.input_mode,
            direction=self.direction,
            num_proj=self.num_proj,
        )

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "num_layers": self.num_layers,
            "direction": self.direction,
            "dropout": self.dropout,
            "input_mode": self.input_mode,
            "num_proj": self.num_proj,
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "time_major": self.time_major,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": keras.initializers.serialize(self.recurrent_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "unit_forget_bias": self.unit_forget_bias,
            "use_bias": self.use_bias,
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "recurrent_regularizer": keras.regularizers.serialize(self.recurrent_regularizer),
            "bias_regularizer": keras.regularizers.serialize(self.bias_regularizer),
            "kernel_constraint": keras.constraints.serialize(self.kernel_constraint),
            "recurrent_constraint": keras.constraints.serialize(self.recurrent_constraint),
            "bias_constraint": keras.constraints.serialize(self.bias_constraint),
            "go_backwards": self.go_backwards,
            "stateful": self.stateful,
            "seed": _seeds.to_config(self.seed),
        }

    def __repr__(self):
        return with_package(self, super().__repr__())

    def set_weights(self, weights):
        """Sets the weights; with use_bias=False their biases must be 0. See keras.layers.Layer."""
        if self.built and len(weights) == 1 and np.shape(weights[0]) == (self.layout.size,):
            self._check_biases(weights[0])
        super().set_weights(weights)

    def _check_biases(self, params):
        if not self.use_bias and np.any(self.layout.unpack(np.asarray(params))[1]):
            raise ValueError(
                f"use_bias=False of {self.name!r} needs biases of 0, but the weights have others."
            )

    def save_own_variables(self, store):
        super().save_own_variables(store)
        # Keras does not save the states of generators.
        if self.seed_generator is not None:
            store[_SEED_STATE] = self.seed_generator.state
        if self.built:
            store[_NETWORK] = np.frombuffer(_description(self.layout).encode(), np.uint8)

    def load_own_variables(self, store):
        found = {name: store[name] for name in store.keys()}
        seed_state, network = found.pop(_SEED_STATE, None), found.pop(_NETWORK, None)
        if network is not None and self.built:
            saved, own = bytes(np.asarray(network)).decode(), _description(self.layout)
            if saved != own:
                raise ValueError(
                    f"The saved weights are of a network with {saved}, but the layer "
                    f"{self.name!r} has {own}."
                )
        if self.built and np.shape(found.get("0")) == (self.layout.size,):
            self._check_biases(found["0"])
        super().load_own_variables(found)
        if self.seed_generator is not None and seed_state is not None:
            self.seed_generator.state.assign(seed_state)

    @classmethod
    def from_converted(cls, converted, *, batch_size=None, **options):
        """Creates a layer with the weights of another framework.

        Args:
            converted: What tf_rnn_ops.params.from_keras, from_torch and their siblings return: a
                layout and a buffer.
            batch_size: Size of the batch, which a layer with stateful=True needs.
            **options: More arguments of the layer, such as return_sequences.

        Returns:
            The layer, which is built.

        Raises:
            ValueError: The weights are of another kind of cell, an option contradicts them, or there is no
                batch_size with stateful=True.
        """
        layout, params = converted
        if layout.rnn_mode != cls.rnn_mode:
            raise ValueError(
                f"The weights are of rnn_mode={layout.rnn_mode!r}, but {cls.__name__} computes "
                f"{cls.rnn_mode!r}."
            )
        network = {
            "units": layout.num_units,
            "num_layers": layout.num_layers,
            "direction": layout.direction,
            "input_mode": layout.input_mode,
            "num_proj": layout.num_proj,
        }
        for name in network.keys() & options.keys():
            raise ValueError(f"{name} is {network[name]!r} in the weights and no option.")
        layer = cls(**network, **options)
        if layer.stateful and batch_size is None:
            raise ValueError(
                f"from_converted of a {cls.__name__} with stateful=True needs batch_size, the size of "
                "its batch, but batch_size is None."
            )
        leading = (None, batch_size) if layer.time_major else (batch_size, None)
        layer.build((*leading, layout.input_size))
        layer.set_weights([params])
        return layer


def _description(layout):
    """What a buffer is of, in words."""
    names = ("rnn_mode", "num_layers", "num_units", "input_size")
    names += ("input_mode", "direction", "num_proj")
    return ", ".join(f"{name}={getattr(layout, name)!r}" for name in names)
