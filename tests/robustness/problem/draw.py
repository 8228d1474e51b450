"""Draws the sets of problems. Problem k of a set depends on the seed of the set and k only."""

import itertools

from robustness import drawn
from robustness.problem.grammar import (
    ACTIVATIONS,
    BLOCK,
    CELLS,
    FACTS,
    FEW_ROWS,
    GATES,
    INT8,
    LAYER,
    LINEAR,
    LINEAR_CELLS,
    MODES,
    STACK,
    TYPES,
    WITHOUT_INT8,
    Problem,
)
from robustness.problem.values import words

# How many problems, and how many one process runs.
SETS = {"quick": (90, 30), "smoke": (300, 100), "ci": (5000, 250), "night": (200000, 500)}

# Around the vector widths of all instruction sets, the heights of their tiles and the pairs of
# bfloat16; then beyond the blocks of the products.
_UNITS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 70, 96, 130)
_BATCH = (1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 17, 33, 70)
_STEPS = (1, 1, 2, 2, 3, 4, 5, 6, 7, 9, 13, 29)
_BLOCKS = (257, 300, 391, 520)
# Multiplications of one pass. The references take some 10 ns for each.
_LARGEST = 1_500_000


class _Dice(drawn.Dice):
    def __init__(self, seed, number):
        drawn_words = iter(words(seed * 2**32 + number, "problem", 64).tolist())
        super().__init__(lambda count: next(drawn_words) % count)

    def size(self, values, largest):
        """One of the values in most cases, otherwise any size up to the largest."""
        return self.one_of(values) if self.chance(70) else 1 + self.below(largest)


def _lengths(dice, op, steps, batch):
    rows = 1 if op == BLOCK else batch
    kind = dice.below(10)
    if kind < 4 or not 0 < rows <= 8:
        return "full" if kind % 2 else "random"
    if kind < 8:
        return dice.one_of(("full", "random"))
    numbers = [steps if dice.chance(20) else dice.below(steps + 1) for _ in range(rows)]
    return ",".join(str(n * (kind == 8)) for n in numbers)  # all 0 where kind is 9


def multiplications(p):
    """The number of multiplications of one pass of a problem."""
    gates = 4 if p.op == BLOCK else GATES[p.cell]
    per_row = 0
    for layer in range(p.L):
        per_row += p.D * gates * p.H * ((p.D * p.H if layer else p.I) + p.H)
    return p.T * p.B * per_row


def _draw(dice):
    op = dice.one_of((STACK,) * 5 + (LAYER,) * 3 + (BLOCK,) * 2)
    steps, batch = dice.size(_STEPS, 20), dice.size(_BATCH, 40)
    inputs, units = dice.size(_UNITS, 70), dice.size(_UNITS, 70)
    if dice.chance(5):
        steps, batch = steps * dice.below(2), batch * dice.below(2)
    if dice.chance(4):
        inputs, units, steps = dice.one_of(_BLOCKS), dice.one_of(_UNITS), 1 + steps % 3
    elif dice.chance(4):
        inputs, units, steps = dice.one_of(_UNITS), dice.one_of(_BLOCKS), 1 + steps % 2
    keys = {"op": op, "T": steps, "B": batch, "I": inputs, "H": units}
    keys["type"] = dice.one_of(TYPES + ("float32",))
    keys["run"] = dice.one_of(("training",) * 3 + ("inference", "packed"))
    keys["seed"] = dice.below(1000)
    if op != BLOCK:
        keys["cell"] = dice.one_of(CELLS + ("lstm",))
        keys["order"] = dice.one_of(("time", "batch"))
    elif keys["run"] == "packed":
        keys["run"] = "inference"
    if op == STACK:
        keys["L"], keys["D"] = dice.one_of((1, 1, 2, 3)), dice.one_of((1, 2))
        keys["input"] = dice.one_of(("linear",) * 4 + ("skip", "auto"))
        if keys["input"] == "skip" or keys["input"] == "auto" and dice.chance(50):
            keys["I"] = units
        if keys["cell"] == "lstm" and dice.chance(40):
            keys["P"] = dice.one_of((1, units, 1 + dice.below(units)))
        if keys["run"] == "training" and dice.chance(30):
            keys["dropout"] = dice.one_of((0.1, 0.375, 0.9))
    if op == LAYER:
        keys["bias"] = dice.one_of(("yes", "yes", "no"))
        if keys["run"] != "packed":
            keys["mask"] = dice.one_of(("none", "none", "input", "recurrent", "both"))
    if op == BLOCK:
        keys["peephole"], keys["clip"] = dice.one_of(("yes", "no")), dice.one_of((0.0, 0.5, 1.5))
    keys["lengths"] = _lengths(dice, op, steps, batch)
    if op == LAYER:
        for cell, facts in FACTS.items():
            if MODES[keys["cell"]] in facts.drawn_for and dice.chance(facts.percent):
                keys["cell"] = cell
    if op == LAYER and GATES[keys["cell"]] > 1:
        if dice.chance(40):
            keys["activation"] = dice.one_of(ACTIVATIONS)
            # Gates that have no bounds would let the states grow without any.
            keys["recurrent_activation"] = dice.one_of(ACTIVATIONS[:4])
            if "gru" in keys["cell"] and keys["recurrent_activation"] == "tanh":
                # A z below 0 takes h beyond its candidates, and every rounding grows with the steps.
                keys["T"] = min(keys["T"], 4)
                keys["lengths"] = _lengths(dice, op, keys["T"], batch)
        if keys["cell"] == "lstm" and dice.chance(40):
            # The limits are values of every type.
            keys["clip"] = dice.one_of((0.0, 0.5, 1.5))
            keys["peephole"] = dice.one_of(("yes", "no"))
            keys["P"] = dice.one_of((0, units, 1 + dice.below(2 * units)))
            keys["proj_clip"] = dice.one_of((0.0, 0.25)) if keys["P"] else 0.0
        elif keys["cell"] == "lstm":
            keys["norm"] = dice.one_of(("yes", "no"))
            if keys["norm"] == "yes":
                # All of a few units may be nearly equal, and a small epsilon enlarges their rounding
                # errors in each step.
                few = units <= 4
                keys["epsilon"] = dice.one_of((1.0, 0.125, 1.0 if few else 1e-3))
                if keys["epsilon"] < 0.1:
                    keys["T"] = min(keys["T"], 2)
                    keys["lengths"] = _lengths(dice, op, keys["T"], batch)
        kept = keys["cell"] != "lstm" or keys.get("norm") == "no"
        if FACTS[keys["cell"]].zoneout and kept and dice.chance(30):
            keys["zoneout_h"] = dice.one_of((0.0, 0.25, 0.5, 1.0))
            if FACTS[keys["cell"]].has_c:
                keys["zoneout_c"] = dice.one_of((0.0, 0.25, 0.5, 1.0))
            if keys["zoneout_h"] or keys.get("zoneout_c"):
                keys["drawn"] = dice.one_of(("yes", "no")) if keys["run"] != "packed" else "no"
    elif op == LAYER and FACTS[keys["cell"]].activation:
        keys["activation"] = dice.one_of(ACTIVATIONS)
    if op == BLOCK and dice.chance(30):
        return _linear(dice, keys)
    if keys.get("mask", "none") != "none" and keys["run"] == "training" and dice.chance(30):
        keys["dropout"] = dice.one_of((0.1, 0.375, 0.9))
        if keys["dropout"] > 0.5 and keys["mask"] != "input" and GATES[keys["cell"]] == 1:
            # No gate bounds what a mask of 10 enlarges, and every rounding grows with the steps.
            keys["T"] = min(keys["T"], 4)
            keys["lengths"] = _lengths(dice, op, keys["T"], batch)
    if op == LAYER and dice.chance(30):
        return _int8(dice, keys)
    if dice.chance(3) and _stays_bounded(keys):
        keys["T"] = steps = 60 + dice.below(140)
        keys["lengths"] = _lengths(dice, op, steps, batch)
    return Problem(**keys)


def _stays_bounded(keys):
    """Whether states, and the errors in them, do not grow with the steps."""
    usual = {"activation", "recurrent_activation", "zoneout_h", "norm"}.isdisjoint(keys)
    return usual and keys.get("cell", "lstm") in ("lstm", "gru") and keys["I"] * keys["H"] < 2500


def _int8(dice, keys):
    """The layer that was drawn, with int8 weights."""
    keys = {key: value for key, value in keys.items() if key not in (*WITHOUT_INT8, "epsilon")}
    if keys["cell"] == "lstm" and not keys.get("P"):
        keys["P"] = dice.one_of((0, 0, keys["H"], 1 + dice.below(2 * keys["H"])))
    return Problem(**keys | {"type": INT8, "run": dice.one_of(("inference", "packed"))})


def _linear(dice, keys):
    """A linear recurrence of the sizes that were drawn."""
    return Problem(
        op=LINEAR,
        cell=dice.one_of(LINEAR_CELLS),
        type=dice.one_of(("float32", "float64")),
        slopes=dice.one_of(("all", "all", "gates", "states", "none")),
        adjoint=dice.one_of(("yes", "no")),
        **{key: keys[key] for key in ("T", "B", "H", "seed")},
    )


def problem(seed, number, largest=_LARGEST):
    """Problem `number` of the set with this seed, of at most about the given number of multiplications."""
    found = _draw(_Dice(seed, number))
    # A problem that is too large loses rows. T does not change, since lengths may contain it.
    while multiplications(found) > largest and found.B > 1:
        lengths = found.lengths if found.op == BLOCK or "," not in found.lengths else "random"
        found = found.replace(B=found.B // 2, lengths=lengths)
    return found


def problems(name, seed=0):
    """The problems of a set."""
    return (problem(seed, number) for number in range(SETS[name][0]))


def _choices(p):
    """The keys of a problem that have few values, and what its sizes are like."""
    found = {key: getattr(p, key) for key in ("op", "type", "run", "order", "D", "L")}
    if p.op != BLOCK:
        found["cell"] = p.cell
    if p.op == STACK:
        found |= {"input": p.input, "projection": bool(p.P), "dropout": bool(p.dropout)}
    if p.op == LAYER:
        found |= {"mask": p.mask, "bias": p.bias, "projection": bool(p.P)}
        found |= {"activation": p.activation, "recurrent_activation": p.recurrent_activation}
        found |= {"norm": p.norm, "epsilon": p.epsilon, "drawn": p.drawn}
        found |= {"zoneout_h": bool(p.zoneout_h), "zoneout_c": bool(p.zoneout_c)}
    if p.op == LINEAR:
        found |= {"slopes": p.slopes, "adjoint": p.adjoint}
    if p.op in (LAYER, BLOCK):
        found |= {"peephole": p.peephole, "clip": bool(p.clip)}
    found["lengths"] = p.lengths if p.lengths in ("full", "random") else "given"
    found["rows"] = "none" if p.T * p.B == 0 else "few" if p.T * p.B <= FEW_ROWS else "many"
    return found


def coverage(problems):
    """How many problems have each pair of choices: a dict of (key, value, key, value)."""
    counts = {}
    for p in problems:
        for pair in itertools.combinations(sorted(_choices(p).items()), 2):
            counts[pair] = counts.get(pair, 0) + 1
    return counts
