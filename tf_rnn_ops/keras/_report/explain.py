"""explain: tells which recurrent layers of a model run as one op, and why other layers do not."""

from typing import Any, Callable, NamedTuple

import keras

from tf_rnn_ops._python import checks
from tf_rnn_ops.keras import _layer_paths as paths
from tf_rnn_ops.keras._report.shown import Shown
from tf_rnn_ops.keras.dispatch import decision, environment, switch
from tf_rnn_ops.keras.dispatch.cells import can_keep_packed

# The attributes of a model with what fit, evaluate and predict have traced.
_FUNCTIONS = ("train_function", "test_function", "predict_function")


class Explanation(NamedTuple):
    """The path of a recurrent layer: a row of explain().

    Attributes:
        layer: Names of the layers around it and its own name, such as 'bidirectional/forward_lstm'.
        kind: Its class.
        path: 'fused' (an op of this package), 'keras' (Keras's implementation), 'fused, keras in training',
            or 'none' for a stack if the ops are not loaded.
        reason: The reason why the layer is not fused; empty if it is.

    Example:
        >>> import tf_rnn_ops.keras
        >>> tf_rnn_ops.keras.explain(tf_rnn_ops.keras.LSTM(4, name="lstm"), print_fn=None)[0]
        Explanation(layer='lstm', kind='LSTM', path='fused', reason='')
    """

    layer: str
    kind: str
    path: str
    reason: str


class Explanations(Shown, list):
    """A list of Explanation. table() returns the table as text.

    Attributes:
        notes: Sentences in addition to the table: on layers whose weights are packed again at each call,
            on layers with int8 weights, and on why XLA (jit_compile=True) does not compile the op. May be empty.
        printed: Whether explain() has printed the table.

    Example:
        >>> import tf_rnn_ops.keras
        >>> tf_rnn_ops.keras.explain(tf_rnn_ops.keras.LSTM(4), print_fn=None).summary()
        'recurrent layers: 1, fused: 1'
    """

    def __init__(self, rows: Any = (), notes: Any = (), printed: bool = False) -> None:
        """Makes the list.

        Args:
            rows: A list of Explanation.
            notes: A list of sentences.
            printed: Whether the table has been printed.
        """
        super().__init__(rows)
        self.notes, self.printed = list(notes), printed

    def summary(self) -> str:
        """The number of recurrent layers, and the number of layers that run as one op."""
        fused = sum(row.path in (paths.FUSED, paths.KERAS_IN_TRAINING) for row in self)
        return f"recurrent layers: {len(self)}, fused: {fused}"

    def tables(self) -> list:
        """The table and the notes."""
        if not self:
            return ["There is no recurrent layer."]
        return [[("layer", "class", "path", "reason"), *self], *self.notes]


def explain(
    model: keras.layers.Layer, print_fn: Callable[[str], Any] | None = print
) -> Explanations:
    """Prints a table of the recurrent layers of a model: layer, class, path, and the reason for the path.

    Args:
        model: A Keras 3 model or layer.
        print_fn: A function that is called with the table; None prints nothing.

    Returns:
        Explanations, a list of Explanation, one for each recurrent layer. A shell or a notebook shows the
        table if it has not been printed.

    Raises:
        TypeError: model is not a Keras 3 layer or model, or print_fn is not a function.

    Example:
        >>> import keras
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.PeepholeLSTM(4, recurrent_dropout=0.5)
        >>> tf_rnn_ops.keras.explain(layer, print_fn=None)[0].path
        'fused, keras in training'
    """
    environment.check_model(model, keras.layers.Layer)
    checks.check_print_fn(print_fn)
    compiled = paths.is_compiled(model)
    layers = paths.recurrent_layers(model)
    rows = [
        Explanation(
            name, type(layer).__name__, *paths.path_of(layer, compiled, paths.known_time(layer))
        )
        for name, layer in layers
    ]
    functions = [name for name in _FUNCTIONS if getattr(model, name, None) is not None]
    if functions and switch.active() and not model.run_eagerly:
        reason = (
            f"{' and '.join(functions)} traced before accelerate(): call compile() of the model"
        )
        rows = [
            row._replace(path=paths.KERAS, reason=reason)
            if row.path != paths.KERAS and not paths.is_ours(layer) and not switch.was_traced(layer)
            else row
            for row, (_, layer) in zip(rows, layers)
        ]
    explanations = Explanations(rows, _notes(layers, rows), printed=print_fn is not None)
    if print_fn is not None:
        print_fn(explanations.table())
    return explanations


def _notes(layers: list[tuple[str, keras.layers.Layer]], rows: list[Explanation]) -> list[str]:
    """The notes on layers that run as one op."""
    fused = [
        layer
        for layer, row in zip(layers, rows)
        if row.path in (paths.FUSED, paths.KERAS_IN_TRAINING)
    ]
    notes = []
    cast = [name for name, layer in fused if not all(map(can_keep_packed, _weight_holders(layer)))]
    if cast:
        notes.append(
            f"Inference packs the weights again at each call of {', '.join(cast)}: the dtype policy casts "
            "them, and only the value of a variable is kept packed."
        )
    quantized = [name for name, layer in layers if decision.is_quantized(layer)]
    if quantized:
        notes.append(
            f"The weights of {', '.join(quantized)} are int8 in inference, and dequantized in training."
        )
    if fused and (reason := decision.xla_reason()):
        notes.append(f"XLA (jit_compile=True): {reason}.")
    return notes


def _weight_holders(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """The objects that hold the weights of a layer: its cells, or a stack itself."""
    return [layer] if paths.is_stack(layer) else decision.cells_of(layer)
