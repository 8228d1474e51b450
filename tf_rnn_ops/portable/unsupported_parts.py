"""The parts of a network that the recurrent nodes of other formats do not have."""

from tf_rnn_ops.params import Layout
from tf_rnn_ops.plain import sizes

# {tensor of a Layer: its name in a message}.
_TENSORS = {
    "projection": "projection",
    "peepholes": "peepholes",
    "layer_norm": "layer normalization",
    "input_mask": "dropout of inputs",
    "recurrent_mask": "dropout of states",
}
_NUMBERS = {"cell_clip": "clipping of c", "zoneout_h": "zoneout", "zoneout_c": "zoneout"}


def part(network: sizes.Layer | Layout, has: tuple[str, ...] = ()) -> str:
    """The first part of a network that a node does not have, such as 'projection'; empty if it has all.

    Args:
        network: The network.
        has: The optional tensors of a Layer that the node has.
    """
    if isinstance(network, Layout):
        return "projection" if network.num_proj else ""
    parts = [what for name, what in _TENSORS.items() if name not in (*has, *network.absent)]
    attrs = network.attrs()
    parts += [what for name, what in _NUMBERS.items() if float(attrs[name]) > 0]
    return next(iter(parts), "")
