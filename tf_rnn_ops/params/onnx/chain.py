"""The inputs of recurrent nodes of ONNX, and the rules for a stack of nodes.

A buffer holds only weights. The caller passes the other inputs with each call, or this module rejects them.
"""

from typing import Any, Mapping, NamedTuple

NOTHING, CONSTANT, CALLER, LAYER, OTHER = "nothing", "constant", "caller", "layer", "other"


class Fed(NamedTuple):
    """The source of one input of a layer.

    Attributes:
        kind: NOTHING: the input is missing, or has the values of a missing one. CONSTANT: other values.
            CALLER: the values of an input of the graph or model, unchanged. LAYER: the sequence of a
            recurrent layer, unchanged. OTHER: any other source.
        what: Text that names the source.
        key: For LAYER the key of the link. For CALLER the name of the input, and the numbers of the first
            elements of the first row and of the last row.
    """

    kind: str
    what: str = ""
    key: Any = None


class Link(NamedTuple):
    """A recurrent layer and the sources of its inputs.

    Attributes:
        key: A value that no other link has.
        name: Text such as "the node 'a'".
        sequence: The Fed of the sequence.
        states: {name of an initial state: Fed}.
        lengths: The Fed of lengths.
    """

    key: Any
    name: str
    sequence: Fed
    states: Mapping[str, Fed]
    lengths: Fed


def check_inputs(link):
    """Raises ValueError unless states and lengths of a link are absent or inputs of the caller."""
    where = f"of {link.name}"
    advice = "make it an input of the graph and pass the states with each call."
    for name, fed in link.states.items():
        if fed.kind == CONSTANT:
            raise ValueError(
                f"{name} {where} is a constant that is not 0, and a buffer holds only weights: {advice}"
            )
        if fed.kind not in (NOTHING, CALLER):
            raise ValueError(
                f"{name} {where} comes from {fed.what}, and a buffer holds only weights: {advice}"
            )
    if link.lengths.kind == CONSTANT:
        found = "is a constant"
    elif link.lengths.kind in (NOTHING, CALLER):
        return
    else:
        found = f"comes from {link.lengths.what}"
    raise ValueError(
        f"sequence_lens {where} {found}, and a buffer holds only weights: make it an input of the graph and "
        "pass the lengths, or a mask, with each call."
    )


def check_stack(links):
    """Raises ValueError unless the links are one stack, in which each layer reads the previous layer."""
    for before, link in zip(links, links[1:]):
        if link.sequence.kind != LAYER or link.sequence.key != before.key:
            raise ValueError(
                f"{capital(link.name)} does not get the output of {before.name} before it, but "
                f"{link.sequence.what}, so they are not a stack. Convert each separately."
            )
        if link.lengths[::2] != before.lengths[::2]:
            raise ValueError(
                f"sequence_lens of {link.name} is {_fed(link.lengths)} and that of "
                f"{before.name} {_fed(before.lengths)}, but a stack has one input for all layers. Convert "
                "each separately."
            )
    for name in sorted({name for link in links for name in link.states}):
        _check_order(name, links)


def _check_order(name, links):
    """Checks the order of the states, which a stack reads as rows of one tensor, in the order of its layers."""
    last = {}
    for link in links:
        fed = link.states.get(name)
        if fed is None or fed.kind != CALLER or fed.key is None:
            continue
        source, start, end = fed.key
        before, end_before = last.get(source, (None, -1))
        if before is not None and start <= end_before:
            raise ValueError(
                f"{name} of {link.name} must follow that of {before.name} in {fed.what}, since a stack "
                "reads the states of its layers in their order, but it does not. Convert each separately."
            )
        last[source] = (link, end)


def _fed(fed):
    return "left out" if fed.kind == NOTHING else fed.what


def capital(text):
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
