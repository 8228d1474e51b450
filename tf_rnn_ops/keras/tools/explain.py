"""explain: tells which recurrent layers of a model run as one op, and why other layers do not."""

from typing import Any, Callable, NamedTuple

import keras

from tf_rnn_ops.keras._internals import overridden
from tf_rnn_ops.keras._internals.layers import inner_layers
from tf_rnn_ops.keras.layers.drop_in import GRU, LSTM, RNN, SimpleRNN
from tf_rnn_ops.keras.layers.own_layer import OwnLayer
from tf_rnn_ops.keras.layers.stack_layer import CudnnStack
from tf_rnn_ops.keras.path import cells, eligibility, environment, switch
from tf_rnn_ops.keras.path.fused import can_keep_packed
from tf_rnn_ops.keras.tools.shown import Shown
from tf_rnn_ops.native import loader

_OURS = (LSTM, GRU, SimpleRNN, RNN, OwnLayer)
_STOCK = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)

FUSED = "fused"  # all steps in one op of this package
KERAS = "keras"  # Keras's implementation
KERAS_IN_TRAINING = "fused, keras in training"
NOTHING = "none"  # a stack without the ops


class Explanation(NamedTuple):
    """One line of the table.

    Attributes:
        layer: Names of the layers around it and its own name, such as 'bidirectional/forward_lstm'.
        kind: Its class.
        path: 'fused' (an op of this package), 'keras' (Keras's implementation), 'fused, keras in training',
            or 'none' for a stack if the ops are not loaded.
        why: The reason why the layer is not fused; empty if it is.

    Example:
        >>> import tf_rnn_ops.keras
        >>> tf_rnn_ops.keras.explain(tf_rnn_ops.keras.LSTM(4, name="lstm"), print_fn=None)[0]
        Explanation(layer='lstm', kind='LSTM', path='fused', why='')
    """

    layer: str
    kind: str
    path: str
    why: str


class Explanations(Shown, list):
    """A list of Explanation. str() returns the table.

    Attributes:
        notes: Sentences in addition to the table: on layers whose weights are packed again at each call,
            on layers with int8 weights, and on why XLA (jit_compile=True) does not compile the op. May be empty.
        printed: Whether explain() has printed the table.

    Example:
        >>> import tf_rnn_ops.keras
        >>> tf_rnn_ops.keras.explain(tf_rnn_ops.keras.LSTM(4), print_fn=None).summary()
        'recurrent layers: 1, fused: 1'
    """

    def __init__(self, rows=(), notes=(), printed=False):
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
        fused = sum(row.path in (FUSED, KERAS_IN_TRAINING) for row in self)
        return f"recurrent layers: {len(self)}, fused: {fused}"

    def tables(self) -> list:
        """The table and the notes."""
        if not self:
            return ["There is no recurrent layer."]
        return [[("layer", "class", "path", "why"), *self], *self.notes]


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
        TypeError: model is not a Keras 3 layer or model.

    Example:
        >>> import keras
        >>> import tf_rnn_ops.keras
        >>> layer = tf_rnn_ops.keras.PeepholeLSTM(4, recurrent_dropout=0.5)
        >>> tf_rnn_ops.keras.explain(layer, print_fn=None)[0].path
        'fused, keras in training'
    """
    environment.refuse_keras_2(model, "model")
    if not isinstance(model, keras.layers.Layer):
        raise TypeError(
            f"model must be a Keras model or layer, but it is a {type(model).__name__}."
        )
    compiled = _is_compiled(model)
    layers = _recurrent_layers(model)
    rows = [
        Explanation(name, type(layer).__name__, *_path(layer, compiled)) for name, layer in layers
    ]
    found = Explanations(rows, _notes(layers, rows, compiled), printed=print_fn is not None)
    if print_fn is not None:
        print_fn(str(found))
    return found


def kept_by_keras(model: keras.layers.Layer) -> list[str]:
    """The names of the recurrent layers that run Keras's implementation although nobody asked for it.

    Args:
        model: A model on the layers of this package. A layer of one time step is left out: it runs Keras's
            implementation because it is faster, and so are all layers if the ops are not loaded, of which
            the import has warned.
    """
    if loader.unavailable() is not None:
        return []
    found = []
    for name, layer in _recurrent_layers(model):
        if _is_stack(layer) or eligibility.wish_for_keras(layer):
            continue
        if _path(layer, _is_compiled(model))[0] == KERAS and not _one_step_reason(layer):
            found.append(name)
    return found


def _is_compiled(model):
    """Whether XLA compiles a model."""
    return bool(getattr(model, "compiled", False) and getattr(model, "jit_compile", False))


def _one_step_reason(layer):
    """The reason of a layer that was built for one time step; None for other layers."""
    shape = (layer.get_build_config() or {}).get("input_shape") or ()
    is_ours = isinstance(layer, (*_OURS, *_STOCK)) or type(layer) is keras.layers.RNN
    if len(shape) != 3 or not is_ours or eligibility.keras_reason(layer):
        return None
    return eligibility.single_step_reason(layer, shape[1])


def _notes(layers, rows, compiled):
    """The notes on layers that run as one op."""
    fused = [layer for layer, row in zip(layers, rows) if row.path in (FUSED, KERAS_IN_TRAINING)]
    notes = []
    cast = [name for name, layer in fused if not all(map(can_keep_packed, _weight_holders(layer)))]
    if cast:
        notes.append(
            f"Inference packs the weights again at each call of {', '.join(cast)}: the dtype policy casts "
            "them, and only the value of a variable is kept packed."
        )
    quantized = [name for name, layer in layers if eligibility.is_quantized(layer)]
    if quantized:
        notes.append(
            f"The weights of {', '.join(quantized)} are int8 in inference, and dequantized in training."
        )
    if fused and (reason := eligibility.xla_reason()):
        notes.append(f"XLA (jit_compile=True): {reason}.")
    return notes + _gpu_notes(layers, rows, compiled)


def _gpu_notes(layers, rows, compiled):
    """Notes on LayerRNN, if TensorFlow sees a GPU."""
    if not environment.has_gpu():
        return []
    if environment.has_layer_rnn():
        ran = [
            name
            for (name, layer), row in zip(layers, rows)
            if row.path in (FUSED, KERAS_IN_TRAINING) and _uses_layer_rnn(layer, compiled)
        ]
        names = ", ".join(ran)
        return [f"LayerRNN runs {names} on the GPU, which is not tested yet."] if ran else []
    if not any(_may_have_a_kernel(layer, row) for (_, layer), row in zip(layers, rows)):
        return []
    return [
        "With the environment variable TF_RNN_OPS_GPU_LAYERS=1, LayerRNN runs more arguments on the GPU, "
        "which is not tested yet (docs/gpu.md)."
    ]


def _uses_layer_rnn(layer, compiled):
    """Whether LayerRNN runs some calls of a layer in a graph, which XLA compiles or not."""
    if _is_stack(layer):
        return False
    shape = (layer.get_build_config() or {}).get("input_shape") or (None, None)
    every_call = compiled or shape[1] == 1
    masks = eligibility.training_reason(layer) is None
    return any(
        cells.op_name(cell) == "LayerRNN"
        or (
            cells.may_run_layer_rnn(cell)
            and (every_call or (masks and cells.needs_gate_masks(cell)))
        )
        for cell in eligibility.cells_of(layer)
    )


def _may_have_a_kernel(layer, row):
    """Whether it runs Keras's implementation for want of a kernel, as far as its arguments tell."""
    return (
        row.path in (KERAS, KERAS_IN_TRAINING)
        and isinstance(layer, _OURS)
        and eligibility.has_op_cells(layer)
        and not layer.unroll
        and getattr(layer, "use_cudnn", "auto") is not False
    )


def _weight_holders(layer):
    """The objects that hold the weights of a layer: its cells, or a stack itself."""
    return [layer] if _is_stack(layer) else eligibility.cells_of(layer)


def _recurrent_layers(model):
    """Lists (name, layer) of the recurrent layers, in the order of the model."""
    found, seen = [], set()

    def visit(layer, name):
        if id(layer) in seen:
            return
        seen.add(id(layer))
        if isinstance(layer, keras.layers.RNN) or _is_stack(layer):
            found.append((name or layer.name, layer))
            return
        for inner in inner_layers(layer):
            visit(inner, f"{name}/{inner.name}" if name else inner.name)

    visit(model, "")
    return found


def _is_stack(layer):
    """Whether it is one of the Cudnn* layers, for which Keras has no implementation."""
    return isinstance(layer, CudnnStack)


def _path(layer, compiled):
    """Returns the path and the reason."""
    if _is_stack(layer):
        reason = loader.unavailable()
        return (FUSED, "") if reason is None else (NOTHING, f"the ops are not loaded: {reason}")
    # WHY type(): isinstance(layer, RNN) is true for every recurrent layer of Keras.
    if not isinstance(layer, (*_OURS, *_STOCK)) and type(layer) is not keras.layers.RNN:
        return KERAS, f"there is no op for a layer of class {type(layer).__name__}"
    reason = overridden.no_inner_loop() or eligibility.keras_reason(layer)
    if reason is not None:
        return KERAS, reason
    if not isinstance(layer, _OURS) and not switch.active():
        return KERAS, "stock Keras layer: see tf_rnn_ops.keras.convert and accelerate"
    reason = _one_step_reason(layer)
    if reason is not None:
        return KERAS, reason
    if compiled and eligibility.layer_xla_reason(layer) is not None:
        return KERAS, eligibility.layer_xla_reason(layer)
    reason = eligibility.training_reason(layer)
    return (FUSED, "") if reason is None else (KERAS_IN_TRAINING, reason)
