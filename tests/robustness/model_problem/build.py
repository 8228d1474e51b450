"""Makes the Keras model that a Network describes: of layers of Keras, and of stacks of this package."""

import contextlib

import keras

from robustness.model_problem.grammar import OF_STEPS, STACKS, STATES, VECTORS
from robustness.model_problem.stacks import LAYERS, KerasStack

WORDS = 7
_CELLS = {
    "lstm": (keras.layers.LSTM, {}),
    "lstm_no_bias": (keras.layers.LSTM, {"use_bias": False}),
    "lstm_relu": (keras.layers.LSTM, {"activation": "relu"}),
    "lstm_hard": (keras.layers.LSTM, {"recurrent_activation": "hard_sigmoid"}),
    "lstm_elu": (keras.layers.LSTM, {"activation": "elu"}),
    "gru": (keras.layers.GRU, {}),
    "gru_before": (keras.layers.GRU, {"reset_after": False}),
    "gru_relu": (keras.layers.GRU, {"activation": "relu"}),
    "gru_no_bias": (keras.layers.GRU, {"use_bias": False}),
    "simple": (keras.layers.SimpleRNN, {}),
    "simple_relu": (keras.layers.SimpleRNN, {"activation": "relu"}),
    "simple_linear": (keras.layers.SimpleRNN, {"activation": "linear"}),
}
# Names that a file or a graph may have to change.
_ODD = {"x": "Frames.in-1", "x_2": "frames.in-1", "mask": "X mask", "mask_2": "1st mask"}


@keras.saving.register_keras_serializable("model_problem")
class OwnCell(keras.layers.SimpleRNNCell):
    """A cell that no op knows."""

    def call(self, *arguments, **options):
        output, states = super().call(*arguments, **options)
        return 0.5 * output, states


class Built:
    """A model and what a test needs of it.

    Attributes:
        model: The Keras model.
        inputs: {name in the grammar: KerasTensor}, in the order of the arguments of the model.
        outputs: The names of the outputs in the order of the file, as a dict has them, or None.
        made: The layers in the order in which they were made. A stack is one.
    """

    def __init__(self, network, reference=False):
        """Makes the model.

        Args:
            network: The Network.
            reference: Whether to make the model of layers of Keras only, in float64, with open sizes, a
                list of inputs and a dict of outputs.
        """
        self._network, self._reference = network, reference
        self._odd = network.names == "odd" and not reference
        self.inputs, self.made, self._kept = {}, [], {}
        with _policy("float64" if reference else network.dtype):
            self._make_parts()
            chained = network.api in ("sequential", "called") and not reference
            self.model = self._sequential() if chained else self._functional()

    # ---- layers ----

    def _layer(self, make, *arguments, **options):
        """A layer, kept in `made`."""
        name = f"My.{len(self.made)}-layer" if self._odd else f"layer_{len(self.made)}"
        self.made.append(make(*arguments, name=name, **options))
        return self.made[-1]

    def _recurrent(self, k, sequences, state=False):
        """A layer as layer k of the line."""
        network = self._network
        kind, units, direction = network.layers[k], network.units[k], network.direction[k]
        if kind in STACKS:
            return self._stack(kind, units, direction.startswith("both"), sequences)
        options = {
            "return_sequences": sequences,
            "return_state": state,
            "go_backwards": direction == "backward",
            "unroll": bool(network.unroll),
            "stateful": bool(network.stateful),
        }
        # Not Keras's default, which bfloat16 does not have.
        zeros = {"recurrent_initializer": "zeros"}
        layer, argument = keras.layers.RNN, units
        if kind in STATES:
            layer, more = _CELLS[kind]
            options |= more | zeros
            if network.dropout:
                options |= {"dropout": 0.3, "recurrent_dropout": 0.2 * (k % 2)}
        elif kind == "cells":
            argument = [keras.layers.LSTMCell(units, **zeros), keras.layers.GRUCell(2, **zeros)]
        else:
            argument = OwnCell(units, **zeros)
        if not direction.startswith("both"):
            return self._layer(layer, argument, **options)
        modes = {"both": "concat", "both_apart": None}
        mode = modes.get(direction, direction.removeprefix("both_"))
        return self._layer(keras.layers.Bidirectional, layer(argument, **options), merge_mode=mode)

    def _stack(self, kind, units, both, sequences):
        if self._reference:
            self.made.append(KerasStack(kind, units, both, sequences, f"layer_{len(self.made)}"))
            return self.made[-1]
        import tf_rnn_ops.keras as rnn

        layer = {
            "stack_lstm": rnn.CudnnLSTM, "stack_gru": rnn.CudnnGRU, "stack_tanh": rnn.CudnnRNNTanh,
            "stack_relu": rnn.CudnnRNNRelu,
        }[kind]  # fmt: skip
        direction = "bidirectional" if both else "unidirectional"
        return self._layer(
            layer,
            units,
            num_layers=LAYERS,
            direction=direction,
            return_sequences=sequences,
            recurrent_initializer="zeros",
        )

    def _between(self, kind, size):
        """A layer, or a function, for a tensor whose last size is `size`; None for nothing."""
        make, layers = self._layer, keras.layers
        return {
            "none": lambda: None,
            "dense": lambda: make(layers.Dense, 3, activation="tanh"),
            "norm": lambda: make(layers.LayerNormalization, epsilon=0.1),
            "batch_norm": lambda: make(layers.BatchNormalization, epsilon=0.1),
            "dropout": lambda: make(layers.Dropout, 0.4),
            "relu": lambda: make(layers.Activation, "relu"),
            "td_dense": lambda: make(layers.TimeDistributed, layers.Dense(3)),
            "add": lambda: _residual(make(layers.Dense, size)),
            "td_rnn": lambda: _windows(
                make(layers.TimeDistributed, layers.LSTM(3, recurrent_initializer="zeros")), size
            ),
            "conv": lambda: make(layers.Conv1D, 3, 2, padding="causal"),
        }[kind]()

    def _size_of(self, k):
        """The last size of the result of layer k."""
        network = self._network
        size = 2 if network.layers[k] == "cells" else network.units[k]
        return size * (2 if network.direction[k] in ("both", "both_apart") else 1)

    def _make_parts(self):
        """Makes every layer once."""
        network = self._network
        masked, last = network.mask == "layer", len(network.layers) - 1
        self._first = keras.layers.Masking() if masked else None
        if network.input == "words":
            self._first = self._layer(keras.layers.Embedding, WORDS, network.I, mask_zero=masked)
        self._sequences = bool(set(network.outputs) & set(OF_STEPS))
        self._recurrents, self._betweens = [], []
        for k in range(last + 1):
            states = (k == last and "states" in network.outputs) or (
                k < last and network.state == "before"
            )
            self._recurrents.append(self._recurrent(k, k < last or self._sequences, states))
            if k < last:
                self._betweens.append(self._between(network.between[k], self._size_of(k)))
        vectors = set(network.outputs) & VECTORS
        self._tail = self._recurrent(last, False) if self._sequences and vectors else None
        make, layers = self._layer, keras.layers
        self._heads = {
            "last": lambda: None,
            "sequence": lambda: None,
            "dense": lambda: make(layers.Dense, 2),
            "softmax": lambda: make(layers.Dense, 3, activation="softmax"),
            "steps": lambda: make(layers.Dense, 2, activation="sigmoid"),
            "mean": lambda: make(layers.GlobalAveragePooling1D),
            "max": lambda: make(layers.GlobalMaxPooling1D),
        }
        self._heads = {one: self._heads[one]() for one in network.outputs if one in self._heads}

    # ---- models ----

    def _sequential(self):
        """A Sequential with an Input, or one that is called before it is exported."""
        network = self._network
        parts = [self._first]
        for layer, between in zip(self._recurrents, [*self._betweens, None]):
            parts += [layer, between]
        (head,) = self._heads.values()
        parts = [one for one in [*parts, head] if one is not None]
        self.outputs = None
        source = self._source("")[0]
        if network.api == "sequential":
            return keras.Sequential([source, *parts])
        model = keras.Sequential(parts)
        sizes = [size or default for size, default in zip(source.shape, (network.B, network.T))]
        model(keras.ops.ones((*sizes, *source.shape[2:]), source.dtype))
        return model

    def _functional(self):
        network = self._network
        suffixes = ("", "_2") if network.shared == "siamese" else ("",)
        found = [self._run(*self._source(suffix), suffix) for suffix in suffixes]
        outputs = found[0]
        if len(found) > 1:
            pairs = {name: [one, found[1][name]] for name, one in found[0].items()}
            outputs = {n: keras.layers.Subtract()(pair) for n, pair in pairs.items()}
        inputs = list(self.inputs.values())
        if self._reference:
            return keras.Model(inputs, outputs)
        names = {name: self._output_name(name) for name in outputs}
        outputs = {names[name]: one for name, one in outputs.items()}
        self.outputs = dict(zip(names.values(), names))
        if network.tree != "dict":
            order = keras.tree.flatten(_in_tree(network.tree, dict(zip(names.values(), names))))
            self.outputs = {f"output_{k}": name for k, name in enumerate(order)}
        ins = {tensor.name: tensor for tensor in inputs}
        return keras.Model(_in_tree(network.tree, ins), _in_tree(network.tree, outputs))

    def _output_name(self, name):
        if name == "input" and self._network.tree == "dict":
            return "x"  # which an input has, too
        return f"Out.{name}-1" if self._odd else name

    def _source(self, suffix):
        """(sequence, valid steps or None, initial states) of a chain, all Inputs."""
        network = self._network
        if network.input == "words":
            x = self._input(f"x{suffix}", (None,), "int32")
        else:
            dtype = network.compute_dtype if network.cast else "float32"
            x = self._input(f"x{suffix}", (None, network.I), dtype)
        mask = self._input(f"mask{suffix}", (None,), "bool") if network.mask == "input" else None
        states = []
        if network.state == "input":
            both = network.direction[0].startswith("both")
            for k in range(STATES[network.layers[0]] * (1 + both)):
                states.append(self._input(f"state{k}", (network.units[0],), "float32"))
        return x, mask, states

    def _input(self, name, shape, dtype):
        """An Input; the size None stands for T."""
        network = self._network
        steps = None if network.open in ("time", "both") else network.T
        rows = None if network.open in ("batch", "both") else network.B
        if self._reference:
            rows = rows if network.stateful else None
            steps = steps if network.unroll else None
            dtype = dtype if dtype in ("int32", "bool") else "float64"
        shape = (rows, *(steps if size is None else size for size in shape))
        wanted = _ODD.get(name, f"_{name}") if self._odd else name
        self.inputs[name] = keras.Input(batch_shape=shape, dtype=dtype, name=wanted)
        return self.inputs[name]

    def _run(self, x, mask, states, suffix):
        """{output: tensor} of a sequence."""
        network = self._network
        raw, self._valid = x, mask
        if network.mask == "layer" and network.has_stack:
            self._valid = keras.ops.not_equal(x, 0)
            if network.input == "floats":
                self._valid = keras.ops.any(self._valid, -1)
        x = x if self._first is None else self._first(x)
        if network.state == "dense":
            states = self._computed_states(x)
        if network.api == "nested" and not self._reference:
            x = self._inner(x)
        else:
            x, states = self._chain(x, mask, states)
        return self._results(x, mask, states, raw)

    def _computed_states(self, x):
        both = self._network.direction[0].startswith("both")
        pooled = keras.layers.GlobalMaxPooling1D()(x)
        count = STATES[self._network.layers[0]] * (1 + both)
        return [
            self._layer(keras.layers.Dense, self._network.units[0])(pooled) for _ in range(count)
        ]

    def _inner(self, x):
        """The result of a Sequential of the recurrent layers and those between them."""
        parts = [keras.Input(batch_shape=x.shape, dtype=x.dtype)]
        if "inner" not in self._kept:
            for layer, between in zip(self._recurrents, [*self._betweens, None]):
                parts += [one for one in (layer, between) if one is not None]
            self._kept["inner"] = keras.Sequential(parts, name="inner.model" if self._odd else None)
        return self._kept["inner"](x)

    def _chain(self, x, mask, states):
        """The result of the last recurrent layer, and its states."""
        network = self._network
        last = len(self._recurrents) - 1
        for k, layer in enumerate(self._recurrents):
            before = x
            given = states if k == 0 or network.state == "before" else []
            x, states = self._call(layer, x, mask, given)
            if k == 0 and network.shared == "twice" and k < last:
                if self._size_of(0) == before.shape[-1] and network.direction[0] != "both_apart":
                    x, states = self._call(layer, x, mask, [])
                else:
                    again, states = self._call(
                        layer, keras.layers.Activation("tanh")(before), mask, []
                    )
                    x = keras.tree.map_structure(lambda *pair: keras.layers.Add()(pair), x, again)
            if isinstance(x, (list, tuple)) and k < last:
                x = keras.layers.Concatenate()(x)
            if k < last and self._betweens[k] is not None:
                x = self._betweens[k](x)
        return x, states

    def _call(self, layer, x, mask, states):
        """(result, states) of a recurrent layer."""
        if isinstance(layer, KerasStack):
            return layer(x, self._valid), []
        options = {} if mask is None else {"mask": mask}
        if states:
            options["initial_state"] = states
        result = layer(x, **options)
        inner = getattr(layer, "layer", layer)
        if not getattr(inner, "return_state", False):
            return result, []
        results = list(result)
        count = len(results) - _state_count(layer)
        head = results[:count]
        return (head[0] if count == 1 else head), results[count:]

    def _results(self, x, mask, states, raw):
        outputs = {}
        for name in self._network.outputs:
            if name == "states":
                outputs |= {f"state_{k}": one for k, one in enumerate(states)}
            elif name == "input":
                outputs[name] = raw
            else:
                of_steps = name in OF_STEPS
                given = x if of_steps or self._tail is None else self._tail_of(x, mask)
                head = self._heads[name]
                if isinstance(given, (list, tuple)) and head is None:
                    outputs |= {f"{name}_{k}": one for k, one in enumerate(given)}
                    continue
                given = (
                    keras.layers.Concatenate()(given) if isinstance(given, (list, tuple)) else given
                )
                outputs[name] = given if head is None else head(given)
        return outputs

    def _tail_of(self, x, mask):
        x = keras.layers.Concatenate()(x) if isinstance(x, (list, tuple)) else x
        return self._call(self._tail, x, mask, [])[0]


def _state_count(layer):
    if isinstance(layer, keras.layers.Bidirectional):
        return 2 * _state_count(layer.forward_layer)
    return 2 if isinstance(layer, keras.layers.LSTM) else 1


def _residual(dense):
    return lambda x: keras.layers.Add()([x, dense(x)])


def _windows(layer, size):
    return lambda x: layer(keras.layers.Reshape((-1, 1, size))(x))


def _in_tree(tree, named):
    """The values of a dict in a structure."""
    values = list(named.values())
    if tree == "dict":
        return dict(named)
    if tree == "tuple":
        return tuple(values)
    if tree == "nested":
        return {"b": values[:1], "a": {"c": values[1:]}} if values[1:] else {"a": [values[0]]}
    return values if tree == "list" or len(values) > 1 else values[0]


@contextlib.contextmanager
def _policy(dtype):
    keras.config.set_dtype_policy(dtype)
    try:
        yield
    finally:
        keras.config.set_dtype_policy("float32")
