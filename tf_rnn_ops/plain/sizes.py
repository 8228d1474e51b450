"""The sizes of the network behind an op, from the shapes that are known when a graph is built."""

from typing import Any, Mapping, NamedTuple, Sequence

from tf_rnn_ops.params import Layout
from tf_rnn_ops.plain.cells import GATES

_Shapes = Mapping[str, Sequence[int | None] | None]
# The inputs of LayerRNN for which a vector of no elements stands for none; lengths are another.
_LAYER_OPTIONAL = (
    *("bias", "projection", "peepholes", "layer_norm"),
    *("input_mask", "recurrent_mask", "seed"),
)

LAYER_ATTRS = {
    "rnn_mode": "lstm",
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "cell_clip": 0.0,
    "proj_clip": 0.0,
    "zoneout_h": 0.0,
    "zoneout_c": 0.0,
    "layer_norm_epsilon": 1e-3,
}
"""The attributes of LayerRNN that say what it computes, with their defaults."""


class UnknownSize(ValueError):
    """Says which size is not known, or which contradict each other, without a full stop."""


class Layer(NamedTuple):
    """What a LayerRNN computes.

    Attributes:
        rnn_mode: As the attribute.
        activation: As the attribute.
        recurrent_activation: As the attribute.
        cell_clip: As the attribute.
        proj_clip: As the attribute.
        zoneout_h: As the attribute.
        zoneout_c: As the attribute.
        layer_norm_epsilon: As the attribute.
        units: H.
        num_proj: P, or 0 without projection.
        input_size: I, or None if the shapes do not say it.
        absent: Names of the optional tensors that it is not given.
    """

    rnn_mode: str
    activation: str
    recurrent_activation: str
    cell_clip: float
    proj_clip: float
    zoneout_h: float
    zoneout_c: float
    layer_norm_epsilon: float
    units: int
    num_proj: int
    input_size: int | None
    absent: tuple[str, ...]

    def attrs(self) -> dict[str, str | float]:
        """The attributes that say what it computes."""
        return {name: getattr(self, name) for name in LAYER_ATTRS}


def layout_of(shapes: _Shapes, attrs: Mapping[str, Any], time_major: bool) -> Layout:
    """The Layout of a CudnnRNN op of any version.

    Args:
        shapes: By name of the op's inputs and outputs (input, input_h, input_c, params, output_h
            and output_c): a list of sizes with None for an unknown one, or None for an unknown rank.
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
        raise UnknownSize("the number of layers is not known: the shape of input_h does not say it")
    directions = 2 if attrs["direction"] == "bidirectional" else 1
    if rows % directions:
        raise UnknownSize(f"input_h has {rows} rows, which two directions do not divide")
    states = (c, out_c) if lstm and num_proj else (h, out_h)
    units = _first_known(2, *states)
    if units is None:
        raise UnknownSize(
            "the number of units is not known: the shapes of the states do not say it"
        )

    def make(input_size):
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
        raise UnknownSize(f"params has {params[0]} elements where these sizes need {layout.size}")
    return layout


def layer_of(shapes: _Shapes, attrs: Mapping[str, Any]) -> Layer:
    """The Layer of a LayerRNN op.

    Args:
        shapes: As for layout_of, of the inputs of LayerRNN and of output_h. An input without an entry
            is absent.
        attrs: The attributes that LAYER_ATTRS names.

    Returns:
        A Layer.

    Raises:
        UnknownSize: A size of the weights is not known, or whether an optional tensor is given.
    """
    absent = tuple(n for n in _LAYER_OPTIONAL if n not in shapes or _is_absent(n, shapes[n]))
    states = shapes["input_h"], shapes["output_h"]
    num_proj, units = 0, None
    if "projection" not in absent:
        num_proj = _first_known(1, shapes["projection"], *states, rank=2)
        num_proj = num_proj or _first_known(0, shapes["recurrent_kernel"], rank=2)
        if num_proj is None:
            raise UnknownSize(
                "the size of the projection is not known: the shapes of the weights do not say it"
            )
        units = _first_known(0, shapes["projection"], rank=2)
    else:
        units = _first_known(0, shapes["recurrent_kernel"], rank=2)
        units = units or _first_known(1, *states, rank=2)
    if units is None:
        columns = _first_known(1, shapes["kernel"], shapes["recurrent_kernel"], rank=2)
        units = None if columns is None else columns // len(GATES[attrs["rnn_mode"]])
    if units is None:
        raise UnknownSize(
            "the number of units is not known: the shapes of the weights do not say it"
        )
    input_size = _first_known(0, shapes["kernel"], rank=2) or _first_known(2, shapes["input"])
    return Layer(**attrs, units=units, num_proj=num_proj, input_size=input_size, absent=absent)


def block_sizes_of(shapes: _Shapes) -> tuple[int, int]:
    """The sizes of a BlockLSTMV2.

    Args:
        shapes: As for layout_of, of the inputs of BlockLSTMV2.

    Returns:
        H and I.

    Raises:
        UnknownSize: One of them is not known.
    """
    units = _first_known(1, shapes["cs_prev"], shapes["h_prev"], rank=2)
    for name in ("wci", "wcf", "wco"):
        units = units or _first_known(0, shapes[name], rank=1)
    if units is None:
        columns = _first_known(1, shapes["w"], rank=2) or _first_known(0, shapes["b"], rank=1)
        units = None if columns is None else columns // 4
    if units is None:
        raise UnknownSize("the number of units is not known: no shape says it")
    rows, input_size = _first_known(0, shapes["w"], rank=2), _first_known(2, shapes["x"])
    if input_size is None and rows is None:
        raise UnknownSize("the input size is not known: neither the shape of x nor of w says it")
    return units, rows - units if input_size is None else input_size


def _is_absent(name, shape):
    if shape == [0]:
        return True
    if shape is None or shape == [None]:
        raise UnknownSize(f"whether {name} is given is not known: its shape does not say it")
    return False


def _first_known(axis, *shapes, rank=3):
    for shape in shapes:
        if shape is not None and len(shape) == rank and shape[axis] is not None:
            return shape[axis]
    return None


def _input_size_from_params(make, params):
    """Solves for I: the size of params grows by the same amount with each unit of it."""
    if params and params[0] is not None and make(1).input_mode == "linear_input":
        least, slope = make(1).size, make(2).size - make(1).size
        # With auto_select the size 2 may be that of skip_input.
        if slope > 0 and params[0] >= least and (params[0] - least) % slope == 0:
            return 1 + (params[0] - least) // slope
    raise UnknownSize(
        "the input size is not known: neither the shape of input nor of params says it"
    )
