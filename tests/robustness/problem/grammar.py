"""The grammar of README.md: one line for one problem. Imports no library but the table of cells."""

import dataclasses

from support.reference import spec

CELLS = ("lstm", "gru", "tanh", "relu")
# {name of a cell in a line: rnn_mode}.
MODES = {mode.removeprefix("rnn_"): mode for mode in spec.CELLS}
LAYER_CELLS = (*CELLS, *(cell for cell in MODES if cell not in CELLS))
# {name in a line: what spec.py says of the cell}.
FACTS = {cell: spec.CELLS[mode] for cell, mode in MODES.items()}
GATES = {cell: facts.gates for cell, facts in FACTS.items()}
ACTIVATIONS = ("tanh", "sigmoid", "hard_sigmoid", "hard_sigmoid_keras2", "relu", "linear")
TYPES = ("float32", "float64", "float16", "bfloat16")
# Calls of the unpacked ops with at most this many rows, T*B, may sum in another order; docs/numerics.md.
FEW_ROWS = 12
INT8 = "int8"  # QuantizedLayerRNN: float32 tensors and int8 weights
ISAS = ("baseline", "avx2", "avx512")

LINEAR_CELLS = ("lstm", "gru", "tanh")

STACK, LAYER, BLOCK, LINEAR = "CudnnRNNV3", "LayerRNN", "BlockLSTMV2", "LinearRecurrence"
# Keys of LayerRNN that QuantizedLayerRNN does not have.
WITHOUT_INT8 = (
    *("mask", "dropout", "clip", "proj_clip", "peephole", "norm", "zoneout_h", "zoneout_c"),
    "drawn",
)
_RNN = (STACK, LAYER)
_NETWORKS = (*_RNN, BLOCK)
_ALL = (*_NETWORKS, LINEAR)


def _key(default, ops, one_of=None, smallest=None):
    """A field: its default, the ops that have it, and its values or the smallest one."""
    rules = {"ops": ops, "one_of": one_of, "smallest": smallest}
    return dataclasses.field(default=default, metadata=rules)


@dataclasses.dataclass(frozen=True)
class Problem:
    """A valid call. The fields are the keys of the line, in the order in which they are printed."""

    op: str = _key(STACK, _ALL, one_of=_ALL)
    cell: str = _key("lstm", (*_RNN, LINEAR), one_of=LAYER_CELLS)
    T: int = _key(1, _ALL, smallest=0)
    B: int = _key(1, _ALL, smallest=0)
    I: int = _key(1, _NETWORKS, smallest=1)  # noqa: E741 - the project's letter for the input size
    H: int = _key(1, _ALL, smallest=1)
    P: int = _key(0, _RNN, smallest=0)
    L: int = _key(1, (STACK,), smallest=1)
    D: int = _key(1, (STACK,), one_of=(1, 2))
    type: str = _key("float32", _ALL, one_of=(*TYPES, INT8))
    input: str = _key("linear", (STACK,), one_of=("linear", "skip", "auto"))
    lengths: str = _key("full", _NETWORKS)
    mask: str = _key("none", (LAYER,), one_of=("none", "input", "recurrent", "both"))
    bias: str = _key("yes", (LAYER,), one_of=("yes", "no"))
    activation: str = _key("tanh", (LAYER,), one_of=ACTIVATIONS)
    recurrent_activation: str = _key("sigmoid", (LAYER,), one_of=ACTIVATIONS)
    dropout: float = _key(0.0, _RNN, smallest=0)
    clip: float = _key(0.0, (LAYER, BLOCK), smallest=0)
    proj_clip: float = _key(0.0, (LAYER,), smallest=0)
    peephole: str = _key("no", (LAYER, BLOCK), one_of=("yes", "no"))
    norm: str = _key("no", (LAYER,), one_of=("yes", "no"))
    epsilon: float = _key(1.0, (LAYER,), smallest=0)
    zoneout_h: float = _key(0.0, (LAYER,), smallest=0)
    zoneout_c: float = _key(0.0, (LAYER,), smallest=0)
    drawn: str = _key("no", (LAYER,), one_of=("yes", "no"))
    order: str = _key("time", _RNN, one_of=("time", "batch"))
    slopes: str = _key("all", (LINEAR,), one_of=("all", "gates", "states", "none"))
    adjoint: str = _key("no", (LINEAR,), one_of=("yes", "no"))
    run: str = _key("training", _NETWORKS, one_of=("training", "inference", "packed"))
    isa: str = _key("", _ALL, one_of=ISAS)
    threads: int = _key(0, _ALL, smallest=1)
    seed: int = _key(0, _ALL, smallest=0)

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value, rules = getattr(self, field.name), field.metadata
            if value == field.default:
                continue
            if self.op in _ALL and self.op not in rules["ops"]:
                raise ValueError(f"{self.op} has no {field.name}")
            if rules["one_of"] and value not in rules["one_of"]:
                expected = ", ".join(map(str, rules["one_of"]))
                raise ValueError(f"{field.name} is {value}, expected one of {expected}")
            if rules["smallest"] is not None and not value >= rules["smallest"]:
                raise ValueError(f"{field.name} is {value}, expected {rules['smallest']} or more")
        self._check_lengths()
        if self.op == STACK and self.cell not in CELLS:
            raise ValueError(f"cell is {self.cell}, expected one of {', '.join(CELLS)}")
        if self.op == LINEAR and self.cell not in LINEAR_CELLS:
            raise ValueError(f"cell is {self.cell}, expected one of {', '.join(LINEAR_CELLS)}")
        if self.op == LINEAR and self.type not in ("float32", "float64"):
            raise ValueError(f"type is {self.type}, expected float32 or float64")
        usual = self.activation == "tanh" and self.recurrent_activation == "sigmoid"
        facts = FACTS[self.cell]
        if not facts.activation and not usual:
            raise ValueError(f"cell is {self.cell}, whose name says its activation")
        if not facts.recurrent_activation and self.recurrent_activation != "sigmoid":
            raise ValueError(f"cell is {self.cell}, which has no recurrent_activation")
        if self.op == LAYER and self.cell != "lstm" and (self.clip or self.peephole == "yes"):
            raise ValueError(f"cell is {self.cell}, expected lstm with clip or peephole")
        if self.norm == "yes" and (
            self.cell != "lstm" or self.P or self.clip or self.peephole == "yes"
        ):
            raise ValueError("norm is yes, expected an lstm without P, clip and peephole")
        if self.epsilon != 1 and not (self.norm == "yes" and 0 < self.epsilon <= 1):
            raise ValueError(
                f"epsilon is {self.epsilon}, expected 1 without norm, otherwise above 0 and at most 1"
            )
        keeps = facts.zoneout and not self.P and not self.clip
        zoneout = max(self.zoneout_h, self.zoneout_c)
        if zoneout and not (zoneout <= 1 and keeps and self.peephole == self.norm == "no"):
            raise ValueError(
                f"a zoneout is {zoneout}, expected at most 1, with an lstm without P, clip, peephole and "
                "norm, or a gru"
            )
        if self.zoneout_c and not facts.has_c:
            raise ValueError(f"zoneout_c is {self.zoneout_c}, expected 0 without lstm")
        if self.drawn == "yes" and (not zoneout or self.run == "packed"):
            raise ValueError("drawn is yes, expected a zoneout and a run that is not packed")
        if self.proj_clip and not self.P:
            raise ValueError(f"proj_clip is {self.proj_clip}, expected 0 without P")
        fits = self.op == LAYER or self.P <= self.H
        if self.P and not (self.cell == "lstm" and fits):
            raise ValueError(f"P is {self.P}, expected 0 to H = {self.H} with an lstm, otherwise 0")
        if self.input == "skip" and self.I != self.H:
            raise ValueError(f"input is skip, expected I = H, but they are {self.I} and {self.H}")
        if self.dropout and not (self.dropout < 1 and self.run == "training"):
            raise ValueError(f"dropout is {self.dropout}, expected below 1, in training")
        if self.dropout and self.op == LAYER and self.mask == "none":
            raise ValueError(f"dropout is {self.dropout}, expected 0 without a mask")
        if self.run == "packed" and (self.op == BLOCK or self.mask != "none"):
            raise ValueError("run is packed, expected an op without masks and not BlockLSTMV2")
        if self.type == INT8:
            self._check_int8()

    def _check_int8(self):
        if self.op != LAYER:
            raise ValueError(f"type is int8, expected op {LAYER}, but it is {self.op}")
        if self.run == "training":
            raise ValueError(
                "run is training, expected inference or packed, since an op with int8 weights has no gradient"
            )
        others = {field.name: field.default for field in dataclasses.fields(self)}
        for name in WITHOUT_INT8:
            if getattr(self, name) != others[name]:
                raise ValueError(
                    f"{name} is {getattr(self, name)}, expected {others[name]} with int8 weights"
                )

    def _check_lengths(self):
        if self.lengths in ("full", "random"):
            return
        numbers = self.lengths.split(",")
        count = 1 if self.op == BLOCK else self.B
        in_range = all(n.isdecimal() and int(n) <= self.T for n in numbers)
        if len(numbers) != count or not in_range:
            raise ValueError(
                f"lengths is {self.lengths}, expected full, random or {count} numbers from 0 to "
                f"T = {self.T}"
            )

    def __str__(self):
        words = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            always = field.name in ("op", "cell", "T", "B", "I", "H")
            if self.op in field.metadata["ops"] and (always or value != field.default):
                words.append(
                    f"{field.name}={value:g}" if field.type is float else f"{field.name}={value}"
                )
        return " ".join(words)

    @property
    def has_jumps(self):
        """Whether the slope of an activation jumps somewhere."""
        smooth = ("tanh", "sigmoid", "linear")
        functions = (self.activation, self.recurrent_activation)
        return (
            self.cell == "relu"
            or bool(self.clip or self.proj_clip)
            or not all(name in smooth for name in functions)
        )

    def replace(self, **changes):
        return dataclasses.replace(self, **changes)


_TYPES = {field.name: field.type for field in dataclasses.fields(Problem)}


def parse(line, kind=Problem):
    """Reads one line.

    Args:
        line: Words key=value in any order.
        kind: Problem or a subclass of it.

    Raises:
        ValueError: The line is not a problem. The message has the line and the expected form.
    """
    values = {}
    try:
        for word in line.split():
            key, equals, value = word.partition("=")
            if not equals or key not in _TYPES:
                raise ValueError(f"{word}: expected key=value with a key of {', '.join(_TYPES)}")
            if key in values:
                raise ValueError(f"{key} is there twice")
            values[key] = _TYPES[key](value)
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"not a problem: {line!r}: {error}") from None


def read(text, kind=Problem):
    """The problems of a text, one a line; what follows a # is a comment."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [parse(line, kind) for line in lines if line]
