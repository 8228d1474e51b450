"""The options of a stack, its files of weights, and its conversion from other frameworks."""

from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from tf_rnn_ops._python import checks
from tf_rnn_ops.keras.dispatch import decision
from tf_rnn_ops.keras.layers import numeric_arguments, policies
from tf_rnn_ops.keras.layers.arguments import (
    Constraint,
    Initializer,
    LayerArguments,
    Regularizer,
    Seed,
    passes_on,
)
from tf_rnn_ops.keras.layers.op_layer import with_package
from tf_rnn_ops.params import Layout
from tf_rnn_ops.params.layout import num_directions
from tf_rnn_ops.raw_ops import dropout_seeds

if TYPE_CHECKING:
    from typing_extensions import Unpack

NO_INT8 = "stacks have float weights"
# Names in files of weights.
_SEED_STATE = "seed_state"
_NETWORK = "network"
# The arguments that the converted weights determine.
_OF_NETWORK = ("num_layers", "direction", "input_mode", "num_proj")


class StackOptions(keras.layers.Layer):
    """A stack without its computation; CudnnLSTM explains the arguments."""

    rnn_mode: str  # the classes in cudnn.py set it

    # Keras's layers have these properties.
    activation = staticmethod(keras.activations.tanh)
    recurrent_dropout = 0.0

    @passes_on(keras.layers.Layer, input_shape=None)
    def __init__(
        self,
        units: int,
        *,
        num_layers: int = 1,
        direction: str = "unidirectional",
        dropout: float = 0.0,
        input_mode: str = "linear_input",
        num_proj: int | None = 0,
        return_sequences: bool = False,
        return_state: bool = False,
        time_major: bool = False,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        unit_forget_bias: bool = True,
        use_bias: bool = True,
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        go_backwards: bool = False,
        stateful: bool = False,
        seed: Seed = None,
        **kwargs: "Unpack[LayerArguments]",
    ) -> None:
        super().__init__(**kwargs)
        self.num_layers = num_layers
        self.direction = direction
        self.dropout = numeric_arguments.fraction("dropout", dropout)
        self.input_mode = input_mode
        self.num_proj = 0 if num_proj is None else num_proj
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
        self.seed = dropout_seeds.checked(seed)
        self._set_network(units)
        # A state exists only with dropout between layers.
        self.seed_generator: Any = None
        if self.dropout > 0 and self.num_layers > 1:
            self.seed_generator = dropout_seeds.generator(self.seed)
            # tf.train.Checkpoint does not find the variable inside of a generator.
            self._seed_state = self.seed_generator.state.value
        self._state_h = self._state_c = None
        self._set_attributes_of_keras()
        policies.check_mode(self, NO_INT8)

    def _set_network(self, units: int) -> None:
        checks.check_size("units", units)
        self.units = int(units)
        self.num_directions = num_directions(self.direction)
        # The size of the input is not known yet. The number of units is valid with every input_mode.
        self.make_layout(input_size=self.units)
        # JSON cannot write NumPy's numbers.
        self.num_layers, self.num_proj = int(self.num_layers), int(self.num_proj)

    def _set_attributes_of_keras(self) -> None:
        if self.time_major and self.activity_regularizer is not None:
            raise ValueError(
                f"activity_regularizer of {self.name!r} must be None with time_major=True, because "
                "Keras divides by the first dimension, which is not the batch, but it is "
                f"{self.activity_regularizer!r}."
            )
        # Keras would round float sequence_lengths to the compute type. `call` casts the other arguments.
        self.autocast = False
        self.supports_masking = True
        self.supports_jit = decision.xla_reason() is None
        self.input_spec = keras.layers.InputSpec(ndim=3)

    @property
    def hidden_size(self) -> int:
        """The size of a hidden state, S."""
        return self.num_proj or self.units

    def make_layout(self, input_size: int) -> Layout:
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

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
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
            "seed": dropout_seeds.to_config(self.seed),
        }

    def __repr__(self) -> str:
        return with_package(self, super().__repr__())

    def set_weights(self, weights: Any) -> None:
        """Sets the weights. With use_bias=False their biases must be 0. See keras.layers.Layer."""
        if self.built and len(weights) == 1 and np.shape(weights[0]) == (self.layout.size,):
            self._check_biases(weights[0])
        super().set_weights(weights)

    def _check_biases(self, params: Any) -> None:
        if not self.use_bias and np.any(self.layout.unpack(np.asarray(params))[1]):
            raise ValueError(
                f"use_bias=False of {self.name!r} needs biases of 0, but the weights have nonzero biases."
            )

    def save_own_variables(self, store: Any) -> None:
        super().save_own_variables(store)
        # Keras does not save the states of generators.
        if self.seed_generator is not None:
            store[_SEED_STATE] = self.seed_generator.state
        if self.built:
            store[_NETWORK] = np.frombuffer(_description(self.layout).encode(), np.uint8)

    def load_own_variables(self, store: Any) -> None:
        arrays: dict[str, Any] = {name: store[name] for name in store.keys()}
        seed_state, network = arrays.pop(_SEED_STATE, None), arrays.pop(_NETWORK, None)
        if network is not None and self.built:
            saved, expected = bytes(np.asarray(network)).decode(), _description(self.layout)
            if saved != expected:
                raise ValueError(
                    f"The saved weights belong to a network with {saved}, but the layer "
                    f"{self.name!r} has {expected}."
                )
        if self.built and "0" in arrays and np.shape(arrays["0"]) == (self.layout.size,):
            self._check_biases(arrays["0"])
        super().load_own_variables(arrays)
        if self.seed_generator is not None and seed_state is not None:
            self.seed_generator.state.assign(seed_state)

    @classmethod
    def from_converted(
        cls, converted: Any, *, batch_size: int | None = None, **options: Any
    ) -> Any:
        """Creates a layer with the weights of another framework.

        Args:
            converted: The result of tf_rnn_ops.params.from_keras, from_torch and so on: a layout and a
                buffer.
            batch_size: The batch size, which a layer with stateful=True needs.
            **options: Other arguments of the layer, such as return_sequences.

        Returns:
            The layer, which is built.

        Raises:
            ValueError: The weights belong to another kind of cell, an option contradicts them, or
                batch_size is None with stateful=True.
        """
        layout, params = converted
        if layout.rnn_mode != cls.rnn_mode:
            raise ValueError(
                f"The weights belong to rnn_mode={layout.rnn_mode!r}, but {cls.__name__} computes "
                f"{cls.rnn_mode!r}."
            )
        network = {name: getattr(layout, name) for name in _OF_NETWORK}
        network["units"] = layout.num_units
        for name in network.keys() & options.keys():
            raise ValueError(f"{name} is {network[name]!r} in the weights and cannot be an option.")
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


def _description(layout: Layout) -> str:
    """A description of the network of a buffer."""
    names = (
        "rnn_mode",
        "num_layers",
        "num_units",
        "input_size",
        "input_mode",
        "direction",
        "num_proj",
    )
    return ", ".join(f"{name}={getattr(layout, name)!r}" for name in names)
