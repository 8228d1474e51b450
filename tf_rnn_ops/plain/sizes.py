"""The sizes of the network behind an op, from the shapes that are known when a graph is built."""

from typing import Any, Callable, Mapping, NamedTuple, Sequence

from tf_rnn_ops.params import Layout
from tf_rnn_ops.params.layout import num_directions
from tf_rnn_ops.plain.cells import GATES
from tf_rnn_ops.raw_ops.table import LAYER_ATTRS, signature

_Shapes = Mapping[str, Sequence[int | None] | None]
_Sizes = dict[str, list[Any] | None]


class UnknownSize(ValueError):
    """The error for sizes that are not known or contradict each other. The message has no full stop."""


class Layer(NamedTuple):
    """The function of a LayerRNN.

    Attributes:
        computes: Pairs of an attribute that LAYER_ATTRS names and its value.
        units: H.
        num_proj: P, or 0 without projection.
        input_size: I, or None if the shapes do not determine it.
        absent: Names of the optional tensors that are absent.
    """

    computes: tuple[tuple[str, str | float], ...]
    units: int
    num_proj: int
    input_size: int | None
    absent: tuple[str, ...]

    @property
    def rnn_mode(self) -> str:
        """The attribute."""
        return str(self.attrs()["rnn_mode"])

    def attrs(self) -> dict[str, str | float]:
        """The attributes that determine the function."""
        return dict(self.computes)


def stack_shapes(layout: Layout, time_major: bool) -> _Sizes:
    """The shapes of the tensors of a CudnnRNNV3.

    Args:
        layout: The network.
        time_major: Whether time is the first dimension.

    Returns:
        {name of an input or output: list of sizes}, with "T" for the number of steps and "B" for the batch
        size. The list is None for a cell state that the network ignores.
    """
    directions = num_directions(layout.direction)
    rows, hidden = layout.num_layers * directions, layout.num_proj or layout.num_units
    steps, states = (["T", "B"], [rows, "B"]) if time_major else (["B", "T"], ["B", rows])
    return {
        "input": [*steps, layout.input_size],
        "input_h": [*states, hidden],
        "input_c": [*states, layout.num_units] if layout.rnn_mode == "lstm" else None,
        "params": [layout.size],
        "sequence_lengths": ["B"],
        "output": [*steps, directions * hidden],
    }


def layer_shapes(layer: Layer, time_major: bool) -> _Sizes:
    """As stack_shapes, for a LayerRNN with all optional tensors."""
    units, size, hidden = layer.units, layer.input_size, layer.num_proj or layer.units
    gates = len(GATES[layer.rnn_mode])
    steps = ["T", "B"] if time_major else ["B", "T"]
    return {
        "input": [*steps, size],
        "input_h": ["B", hidden],
        "input_c": ["B", units] if layer.rnn_mode == "lstm" else None,
        "kernel": [size, gates * units],
        "recurrent_kernel": [hidden, gates * units],
        "bias": [2, gates * units] if layer.rnn_mode == "gru" else [gates * units],
        "projection": [units, hidden],
        "peepholes": [3, units],
        "layer_norm": [18, units],
        "sequence_lengths": ["B"],
        "input_mask": [gates, "B", size],
        "recurrent_mask": [gates, "B", hidden],
        "seed": [2],
        "output": [*steps, hidden],
    }


def block_shapes(units: int, size: int) -> _Sizes:
    """As stack_shapes, for a BlockLSTMV2 with H units and inputs of size I."""
    return {
        "seq_len_max": [],
        "x": ["T", "B", size],
        **dict.fromkeys(("cs_prev", "h_prev"), ["B", units]),
        "w": [size + units, 4 * units],
        **dict.fromkeys(("wci", "wcf", "wco"), [units]),
        "b": [4 * units],
        **dict.fromkeys(("cs", "h"), ["T", "B", units]),
    }


def layout_of(shapes: _Shapes, attrs: Mapping[str, Any], time_major: bool) -> Layout:
    """The Layout of a CudnnRNN op of any version.

    Args:
        shapes: For each name of an input or output of the op (input, input_h, input_c, params, output_h
            and output_c) a list of sizes, with None for an unknown size, or None for an unknown rank.
        attrs: rnn_mode, input_mode, direction and num_proj.
        time_major: Whether time is the first dimension.

    Returns:
        A Layout.

    Raises:
        UnknownSize: A size is not known, or the sizes contradict each other.
    """
    lstm, num_proj = attrs["rnn_mode"] == "lstm", attrs["num_proj"]
    h, out_h = shapes["input_h"], shapes["output_h"]
    c, out_c = (shapes["input_c"], shapes["output_c"]) if lstm else (None, None)
    rows = _first_known(0 if time_major else 1, h, out_h, c, out_c)
    if rows is None:
        raise UnknownSize(
            "the number of layers is not known: the shape of input_h does not determine it"
        )
    directions = num_directions(attrs["direction"])
    if rows % directions:
        raise UnknownSize(f"input_h has {rows} rows, which is not a multiple of two directions")
    states = (c, out_c) if lstm and num_proj else (h, out_h)
    units = _first_known(2, *states)
    if units is None:
        raise UnknownSize(
            "the number of units is not known: the shapes of the states do not determine it"
        )

    def make(input_size: int) -> Layout:
        return Layout(
            num_layers=rows // directions, num_units=units, input_size=input_size, **attrs
        )

    params = shapes["params"]
    input_size = _first_known(2, shapes["input"])
    try:
        if input_size is None:
            input_size = _input_size_from_params(make, params)
        layout = make(input_size)
    except UnknownSize:
        raise
    except ValueError as error:
        raise UnknownSize(str(error)) from error
    if params and params[0] is not None and params[0] != layout.size:
        raise UnknownSize(f"params has {params[0]} elements, but these sizes need {layout.size}")
    return layout


def layer_of(shapes: _Shapes, attrs: Mapping[str, Any]) -> Layer:
    """The Layer of a LayerRNN op.

    Args:
        shapes: As in layout_of, for the inputs of LayerRNN and output_h. An input without an entry is
            absent.
        attrs: The attributes that LAYER_ATTRS names.

    Returns:
        A Layer.

    Raises:
        UnknownSize: A size of the weights is not known, or the shapes do not tell whether an optional
            tensor is given.
    """
    # Absent lengths do not change the network.
    optional = [n for n in signature("LayerRNN").optional if n != "sequence_lengths"]
    absent = tuple(n for n in optional if n not in shapes or _is_absent(n, shapes[n]))
    states = shapes["input_h"], shapes["output_h"]
    num_proj = 0
    units: int | None = None
    if "projection" not in absent:
        columns = _first_known(1, shapes["projection"], *states, rank=2)
        columns = columns or _first_known(0, shapes["recurrent_kernel"], rank=2)
        if columns is None:
            raise UnknownSize(
                "the size of the projection is not known: the shapes of the weights do not determine it"
            )
        num_proj, units = columns, _first_known(0, shapes["projection"], rank=2)
    else:
        units = _first_known(0, shapes["recurrent_kernel"], rank=2)
        units = units or _first_known(1, *states, rank=2)
    if units is None:
        columns = _first_known(1, shapes["kernel"], shapes["recurrent_kernel"], rank=2)
        units = None if columns is None else columns // len(GATES[attrs["rnn_mode"]])
    if units is None:
        raise UnknownSize(
            "the number of units is not known: the shapes of the weights do not determine it"
        )
    input_size = _first_known(0, shapes["kernel"], rank=2) or _first_known(2, shapes["input"])
    computes = tuple((name, attrs[name]) for name in LAYER_ATTRS)
    return Layer(computes, units, num_proj, input_size, absent)


def block_sizes_of(shapes: _Shapes) -> tuple[int, int]:
    """The sizes of a BlockLSTMV2.

    Args:
        shapes: As in layout_of, for the inputs of BlockLSTMV2.

    Returns:
        H and I.

    Raises:
        UnknownSize: H or I is not known.
    """
    units = _first_known(1, shapes["cs_prev"], shapes["h_prev"], rank=2)
    for name in ("wci", "wcf", "wco"):
        units = units or _first_known(0, shapes[name], rank=1)
    if units is None:
        columns = _first_known(1, shapes["w"], rank=2) or _first_known(0, shapes["b"], rank=1)
        units = None if columns is None else columns // 4
    if units is None:
        raise UnknownSize("the number of units is not known: no shape determines it")
    rows, input_size = _first_known(0, shapes["w"], rank=2), _first_known(2, shapes["x"])
    if input_size is None:
        if rows is None:
            raise UnknownSize(
                "the input size is not known: neither the shape of x nor the shape of w determines it"
            )
        input_size = rows - units
    return units, input_size


def _is_absent(name: str, shape: Sequence[int | None] | None) -> bool:
    if shape == [0]:
        return True
    if shape is None or shape == [None]:
        raise UnknownSize(f"the shape of {name} does not tell whether it is given")
    return False


def _first_known(axis: int, *shapes: Any, rank: int = 3) -> int | None:
    for shape in shapes:
        if shape is not None and len(shape) == rank and shape[axis] is not None:
            return shape[axis]
    return None


def _input_size_from_params(make: Callable[[int], Layout], params: Any) -> int:
    """Computes I from the size of params, which is linear in I."""
    if params and params[0] is not None and make(1).input_mode == "linear_input":
        least, slope = make(1).size, make(2).size - make(1).size
        # With auto_select the size for I = 2 may be the size for skip_input.
        if slope > 0 and params[0] >= least and (params[0] - least) % slope == 0:
            return 1 + (params[0] - least) // slope
    raise UnknownSize(
        "the input size is not known: neither the shape of input nor the shape of params determines it"
    )
