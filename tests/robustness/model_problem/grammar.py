"""Lines of text that describe a small Keras model to export; README.md has the keys.

A line is words `key=value` in any order. Values with commas have one part for each layer or output.
"""

import dataclasses

from robustness import drawn

FORMATS = ("tf_saved_model", "onnx", "litert", "openvino", "rnn")
# Layers of Keras by the number of their states.
STATES = {
    "lstm": 2, "lstm_no_bias": 2, "lstm_relu": 2, "lstm_hard": 2, "lstm_elu": 2,
    "gru": 1, "gru_before": 1, "gru_relu": 1, "gru_no_bias": 1,
    "simple": 1, "simple_relu": 1, "simple_linear": 1,
}  # fmt: skip
# RNN of an LSTMCell and a GRUCell, RNN of a cell that only Keras knows, and stacks of two layers.
OTHERS = ("cells", "own_cell")
STACKS = ("stack_lstm", "stack_gru", "stack_tanh", "stack_relu")
LAYERS = (*STATES, *OTHERS, *STACKS)
# Bidirectional has a merge mode; both_apart is None.
DIRECTIONS = ("forward", "backward", "both", "both_sum", "both_ave", "both_mul", "both_apart")
# The parts between two recurrent layers.
BETWEEN = (
    "none", "dense", "norm", "batch_norm", "dropout", "relu", "td_dense", "add", "td_rnn", "conv",
)  # fmt: skip
UNMASKED = ("td_rnn", "conv")
# Keras 3.15 computes TimeDistributed wrongly in a graph with an open number of steps.
OVER_TIME = ("td_dense", "td_rnn")
# Those that are functions, not layers.
FUNCTIONS = ("add", "td_rnn")
# The layers that run Keras's implementation.
LOOPS = ("lstm_elu", "own_cell")
# Outputs of the last step, and of all steps; those of the sequence of the last layer, and others.
VECTORS = {"last", "dense", "softmax"}
OF_ALL_STEPS = ("mean", "max")
OF_STEPS = ("sequence", "steps", "mean", "max")
OUTPUTS = ("last", "dense", "softmax", "states", "input", *OF_STEPS)
TREES = ("tensor", "list", "tuple", "dict", "nested")
APIS = ("functional", "sequential", "called", "nested")
MASKS = ("none", "layer", "input")
DTYPES = ("float32", "float64", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16")
SIZES = ("none", "batch", "time", "both")


@dataclasses.dataclass(frozen=True)
class Network:
    """The parts of a line."""

    layers: tuple = ("lstm",)
    direction: tuple = ("forward",)
    units: tuple = (4,)
    between: tuple = ()
    outputs: tuple = ("last",)
    tree: str = "tensor"
    api: str = "functional"
    input: str = "floats"
    mask: str = "none"
    state: str = "none"
    shared: str = "none"
    names: str = "plain"
    dtype: str = "float32"
    cast: int = 0
    I: int = 3  # noqa: E741
    T: int = 5
    B: int = 2
    open: str = "none"
    fix: str = "none"
    stateful: int = 0
    unroll: int = 0
    dropout: int = 0
    int8: str = "none"
    opset: int = 18
    verify: int = 0
    format: str = "all"
    seed: int = 0

    def __str__(self):
        fields = [f for f in dataclasses.fields(self) if getattr(self, f.name) != f.default]
        return " ".join(drawn.word(f, getattr(self, f.name)) for f in fields) or "layers=lstm"

    @property
    def formats(self):
        return FORMATS if self.format == "all" else (self.format,)

    @property
    def has_stack(self):
        return any(layer in STACKS for layer in self.layers)

    @property
    def streams(self):
        """Whether the model can be exported with streaming=True: each layer with states has one call."""
        outputs = set(self.outputs)
        apart = bool(outputs & {"sequence", "steps"}) and len(outputs & VECTORS) > 1
        own_state = self.state == "input" and len(self.layers) == 1 and "states" in outputs
        return (
            set(self.direction) == {"forward"}
            and (self.mask, self.shared) == ("none", "none")
            and (self.state == "none" or own_state)
            and not apart
            and not outputs & set(OF_ALL_STEPS)
            and outputs != {"input"}
            and "td_rnn" not in self.between
        )

    @property
    def is_of_steppers(self):
        """Whether a stepper has the types, layers and outputs of the model."""
        outputs = set(self.outputs)
        keras_runs_all = self.unroll and not set(self.layers) <= set(STACKS)
        return (
            self.dtype == "float32"
            and not set(self.layers) & set(LOOPS)
            and not keras_runs_all
            and not (self.input == "words" and "input" in outputs)
            and not (self.state == "input" and outputs == {"states"})
        )

    @property
    def compute_dtype(self):
        return self.dtype.removeprefix("mixed_")


def parse(line):
    """The Network of a line."""
    return fitting(drawn.parse(line, Network))


def fitting(network):
    """The network with one value of direction, units and between for each layer: the last one again."""
    count = len(network.layers)

    def repeated(values, wanted, default):
        values = tuple(values[:wanted]) or (default,) * wanted
        return values + values[-1:] * (wanted - len(values))

    return dataclasses.replace(
        network,
        direction=repeated(network.direction, count, "forward"),
        units=repeated(network.units, count, 4),
        between=repeated(network.between, count - 1, "none"),
    )


def draw(seed, number):
    """Network `number` of the set with this seed; it depends on nothing else."""
    dice = drawn.numbered_dice(seed, number)
    values = _draw_sizes(dice)
    values["api"] = dice.one_of(("functional",) * 7 + APIS[1:])
    simple = values["api"] != "functional"  # a chain of layers
    values["dtype"] = dice.one_of(("float32",) * 12 + DTYPES)
    values["cast"] = int(dice.chance(30))
    values["input"] = "words" if dice.chance(30) else "floats"
    values["mask"] = dice.one_of(("none", "none", "layer", "none" if simple else "input"))
    values |= _draw_layers(dice, values["mask"], values["open"], simple)
    values |= _draw_wiring(dice, values)
    values |= _draw_options(dice, values)
    if values["api"] == "called":
        values["open"] = values["fix"] = "none"  # Keras takes the sizes of the call
    if dice.chance(35):
        values |= _for_streams(values)
    return fitting(Network(**values))


def _for_streams(values):
    """The values to replace so that the model streams, in a stepper too."""
    layers = tuple("lstm" if one in LOOPS else one for one in values["layers"])
    own_state = values.get("state") == "input" and len(layers) == 1
    # One vector only, because each has a layer of its own.
    kept = [one for one in values["outputs"] if one not in (*OF_ALL_STEPS, *VECTORS, "input")]
    kept += [one for one in values["outputs"] if one in VECTORS][:1]
    kept += ["steps", "states"] if own_state else []
    return {
        "layers": layers,
        "direction": ("forward",),
        "between": tuple("conv" if one == "td_rnn" else one for one in values["between"]),
        "outputs": tuple(dict.fromkeys(kept)) or ("steps",),
        "mask": "none",
        "state": "input" if own_state else "none",
        "shared": "none",
        "dtype": "float32",
        "unroll": 0,
        "int8": "weights" if values.get("int8") == "weights" else "none",
    }


def _draw_sizes(dice):
    return {
        "I": 1 + dice.below(5),
        "T": 1 if dice.chance(8) else 2 + dice.below(6),
        "B": 1 + dice.below(3),
        "open": dice.one_of(SIZES),
        "fix": dice.one_of(("none", "none") + SIZES),
        "seed": dice.below(1000),
        "opset": dice.one_of((15, 16, 17, 18, 18)),
        "names": "odd" if dice.chance(25) else "plain",
    }


def _draw_layers(dice, mask, open, simple):
    count = dice.one_of((1, 1, 1, 2, 2, 3))
    kinds = list(STATES) * 2 + ["lstm", "gru"] * 6 + list(OTHERS) + list(STACKS) * 2
    directions = ["forward"] * 5 + ["backward", "both"] + list(DIRECTIONS)
    between = [one for one in BETWEEN if mask == "none" or one not in UNMASKED]
    if open in ("time", "both"):
        between = [one for one in between if one not in OVER_TIME]
    if simple:
        directions.remove("both_apart")
        between = [one for one in between if one not in FUNCTIONS]
    layers = tuple(dice.one_of(kinds) for _ in range(count))
    return {
        "layers": layers,
        "direction": tuple(_draw_direction(dice, layer, directions) for layer in layers),
        "units": tuple(1 + dice.below(6) for _ in range(count)),
        "between": tuple(dice.one_of(("none", "none", *between)) for _ in layers[1:]),
    }


def _draw_direction(dice, layer, directions):
    found = dice.one_of(directions)
    if layer in STACKS:
        return "both" if found.startswith("both") else "forward"
    return found


def _draw_wiring(dice, values):
    """Outputs, states, and layers that are called twice."""
    layers, directions = values["layers"], values["direction"]
    functional = values["api"] == "functional"
    known = all(layer in STATES for layer in layers)
    outputs = [one for one in OUTPUTS if functional or one not in ("states", "input")]
    if functional and not (known and directions[-1] != "both_apart"):
        outputs.remove("states")
    if values["api"] in ("sequential", "called"):
        return {"outputs": (dice.one_of(outputs),)}
    count = dice.one_of((1, 1, 2, 3))
    wiring = {"outputs": tuple(dict.fromkeys(dice.one_of(outputs) for _ in range(count)))}
    wiring["tree"] = dice.one_of(TREES)
    if functional and known and dice.chance(35):
        wiring["state"] = dice.one_of(("input", "dense", "before"))
        if wiring["state"] == "before":  # which needs states of equal sizes
            wiring["layers"] = layers[:1] * len(layers)
            wiring["units"] = values["units"][:1] * len(layers)
            wiring["direction"] = tuple(
                "forward" if one.startswith("both") else one for one in directions
            )
    elif dice.chance(20) and "states" not in wiring["outputs"]:
        wiring["shared"] = dice.one_of(("siamese", "twice")) if functional else "siamese"
        if wiring["shared"] == "siamese":
            wiring["outputs"] = tuple(o for o in wiring["outputs"] if o != "input") or ("last",)
            wiring["direction"] = tuple(d.replace("both_apart", "both") for d in directions)
    return wiring


def _has_both(values):
    return any(direction.startswith("both") for direction in values["direction"])


def _draw_options(dice, values):
    options = {"dropout": int(dice.chance(20)), "verify": int(dice.chance(25))}
    if dice.chance(6) and values["open"] in ("none", "time") and "shared" not in values:
        if set(values["layers"]) <= set(STATES) and not _has_both(values):
            options["stateful"] = 1
    if dice.chance(6) and values["open"] in ("none", "batch"):
        options["unroll"] = 1
    if values["dtype"] == "float32" and dice.chance(15):
        kept = set(values["layers"]) <= set(STATES) and "td_rnn" not in values["between"]
        options["int8"] = dice.one_of(("weights", "file")) if kept else "file"
    return options
