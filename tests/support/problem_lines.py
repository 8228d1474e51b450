"""Lines of robustness/problem as cases of other tests."""

import itertools

from robustness.problem import check, grammar, laws

# Around the widths of vectors and the heights of tiles of all instruction sets.
TAILS = (1, 2, 3, 7, 13, 15, 16, 17, 31, 33)
FLOATS = ("float32", "float64")
TYPES = ("bfloat16", "float16", *FLOATS)

# The names of layer_cases.MODES as keys of a line.
_VARIANTS = {
    "lstmp": "cell=lstm P=9 peephole=yes clip=0.25 proj_clip=0.125",
    "lstm_layer_norm": "cell=lstm norm=yes",
    "lstm_zoneout": "cell=lstm zoneout_h=0.25 zoneout_c=0.5 drawn=yes",
}


def keys_of(mode):
    """A mode of layer_cases.MODES as keys of a line."""
    if mode in _VARIANTS:
        return _VARIANTS[mode]
    cell = mode.removeprefix("rnn_").removesuffix("_zoneout")
    return f"cell={cell}" + " zoneout_h=0.25 drawn=yes" * mode.endswith("_zoneout")


def lines(template, **choices):
    """The lines of a template with each combination of choices for its fields."""
    return [
        template.format(**dict(zip(choices, chosen, strict=True)))
        for chosen in itertools.product(*choices.values())
    ]


def law_lines(prefix, found):
    """Checks each line with `prefix` by all laws of robustness/problem that apply."""
    for seed, line in enumerate(found):
        problem = grammar.parse(f"{prefix} {line} seed={seed}")
        case, got, expected = check.check(problem)
        laws.check(problem, case, got, expected.decided)


def check_lines(prefix, found):
    """Checks each line with `prefix`: values, and the same bits in other layouts and in inference."""
    for seed, line in enumerate(found):
        problem = grammar.parse(f"{prefix} {line} seed={seed}")
        try:
            check.check(problem)
        except AssertionError as error:
            raise AssertionError(f"{problem}: {error}") from error
