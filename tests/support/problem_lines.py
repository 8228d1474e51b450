"""Lines of robustness/problem as cases of other tests."""

import itertools

from robustness.problem import check, grammar

# Around the widths of vectors and the heights of tiles of all instruction sets.
TAILS = (1, 2, 3, 7, 13, 15, 16, 17, 31, 33)
FLOATS = ("float32", "float64")
TYPES = ("bfloat16", "float16", *FLOATS)


def lines(template, **choices):
    """The lines of a template with each combination of choices for its fields."""
    return [
        template.format(**dict(zip(choices, chosen, strict=True)))
        for chosen in itertools.product(*choices.values())
    ]


def check_lines(prefix, found):
    """Checks each line with `prefix`: values, and the same bits in other layouts and in inference."""
    for seed, line in enumerate(found):
        problem = grammar.parse(f"{prefix} {line} seed={seed}")
        try:
            check.check(problem)
        except AssertionError as error:
            raise AssertionError(f"{problem}: {error}") from error
