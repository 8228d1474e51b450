"""Lines of text that describe a small ONNX graph with recurrent nodes; README.md has the keys.

A line is words `key=value` in any order. Values with commas have one part for each node.
"""

import dataclasses

from robustness import drawn

OPS = ("LSTM", "GRU", "RNN")
# How many steps a second run of an open graph has more. Constants lie between.
MORE_STEPS = 40
DIRECTIONS = ("forward", "reverse", "bidirectional")
# Sources of W, R, B and P, and sources that are not constant.
WEIGHTS = (
    "plain", "constant", "identity", "half", "wide", "transpose", "reshape", "slice", "concat", "gather",
    "mul", "squeeze", "unsqueeze", "where", "fill", "default", "floats",
)  # fmt: skip
NO_WEIGHTS = ("input", "computed", "sized", "difference", "split", "quantized")
# Sources of initial_h and initial_c that are 0 or the caller's, and others.
STATES = (
    "none", "zero", "zero_open", "zero_expand", "zero_cast", "zero_slice", "input", "input_identity",
    "input_cast", "input_squeeze", "input_batch", "joint",
)  # fmt: skip
NO_STATES = (
    "constant", "constant_expand", "learned_open", "previous", "of_x", "computed", "mixed", "flipped",
    "joint_swapped", "sized", "input_narrow", "compared", "floored",
)  # fmt: skip
# Sources of sequence_lens that are T or the caller's, and others.
LENGTHS = ("none", "input", "input_cast", "input_reshape")
NO_LENGTHS = (
    "full", "full_open", "full_product", "short", "short_cast", "short_identity", "short_expand",
    "computed", "minus_open", "input_flipped",
)  # fmt: skip
# Ways from Y to the X of the next node, those of one direction only, and those that change it.
BETWEEN = (
    "transpose_reshape", "reshape_open", "slices", "split", "gather", "identity", "dropout",
    "double", "there_and_back", "flatten",
)  # fmt: skip
ONE_DIRECTION = ("squeeze", "squeeze_all", "reshape")
NO_BETWEEN = (
    "relu", "twice", "swapped", "reversed", "batch_flipped", "half", "times_swapped", "last_state",
    "of_x", "add_x", "cut", "reshape_wrong", "one_direction", "skip", "shifted", "cut_far", "cut_batch",
    "shuffled",
)  # fmt: skip
# Parts that need not be converted, by key.
OTHERS = {
    "weights": NO_WEIGHTS, "h": NO_STATES, "c": NO_STATES, "lengths": NO_LENGTHS, "between": NO_BETWEEN,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Graph:
    """The parts of a line."""

    ops: tuple = ("LSTM",)
    direction: tuple = ("forward",)
    units: tuple = (4,)
    layout: tuple = (0,)
    weights: tuple = ("plain",)
    bias: tuple = (1,)
    peepholes: tuple = (0,)
    reset_after: tuple = (1,)
    h: tuple = ("none",)
    c: tuple = ("none",)
    lengths: tuple = ("none",)
    between: tuple = ()
    I: int = 3  # noqa: E741
    T: int = 5
    B: int = 2
    dims: str = "static"
    opset: int = 17
    seed: int = 0

    def __str__(self):
        fields = dataclasses.fields(self)
        return " ".join(filter(None, (drawn.word(f, getattr(self, f.name)) for f in fields)))


def parse(line):
    """The Graph of a line."""
    return drawn.parse(line, Graph)


def draw(seed, number):
    """Graph `number` of the set with this seed; it depends on nothing else.

    One graph of three has only parts that must be converted. The others have one or two of the other
    parts, and in most cases nothing else that a stack has not.
    """
    dice = drawn.numbered_dice(seed, number)
    sure = dice.chance(33)
    stack = dice.chance(60 if sure else 90)
    count = dice.one_of((1, 1, 2, 2, 2, 3) if sure else (1, 2, 2, 3))
    nodes = _draw_nodes(dice, count, stack)
    parts = _draw_parts(dice, nodes)
    if not sure:
        _draw_others(dice, parts, nodes["ops"])
    opset = dice.one_of((11, 13, 14, 17, 21))
    return Graph(
        layout=tuple(int(opset >= 14 and dice.chance(20)) for _ in range(count)),
        I=1 + dice.below(5),
        T=2 + dice.below(5),
        B=1 + dice.below(3),
        dims=dice.one_of(("static", "named", "open")),
        opset=opset,
        seed=dice.below(1000),
        **{key: tuple(value) for key, value in {**nodes, **parts}.items()},
    )


def _draw_nodes(dice, count, stack):
    """Kinds and sizes of the nodes, which params.from_onnx takes if `stack`."""
    if stack:
        op, units = dice.one_of(OPS), 2 + dice.below(4)
        direction = dice.one_of(("forward", "bidirectional"))
        ops, sizes, directions = ([one] * count for one in (op, units, direction))
    else:
        ops = [dice.one_of(OPS) for _ in range(count)]
        sizes = [2 + dice.below(4) for _ in range(count)]
        directions = [dice.one_of(DIRECTIONS) for _ in range(count)]
    return {
        "ops": ops,
        "direction": directions,
        "units": sizes,
        "bias": [int(dice.chance(80)) for _ in ops],
        "peepholes": [int(op == "LSTM" and not stack and dice.chance(40)) for op in ops],
        "reset_after": [int(stack or dice.chance(60)) for _ in ops],
    }


def _draw_parts(dice, nodes):
    """Parts that must be converted."""
    ops, directions = nodes["ops"], nodes["direction"]
    lengths = dice.one_of(LENGTHS) if dice.chance(50) else "none"
    return {
        "weights": [dice.one_of(WEIGHTS) for _ in ops],
        "h": [dice.one_of(STATES) for _ in ops],
        "c": [dice.one_of(STATES) if op == "LSTM" else "none" for op in ops],
        "lengths": [lengths] * len(ops),
        "between": [
            dice.one_of(BETWEEN + (() if direction == "bidirectional" else ONE_DIRECTION))
            for direction in directions[:-1]
        ],
    }


def _draw_others(dice, parts, ops):
    """Puts one or two other parts in."""
    keys = [key for key in ("between", "between", "h", "c", "lengths", "weights") if parts[key]]
    for _ in range(dice.one_of((1, 1, 2))):
        key = dice.one_of(keys)
        k = dice.below(len(parts[key]))
        form = dice.one_of(OTHERS[key])
        if form == "joint_swapped":  # of one node it is none
            parts[key] = [form if key == "h" or op == "LSTM" else "none" for op in ops]
        elif key != "c" or ops[k] == "LSTM":
            parts[key][k] = form
