"""Child process: calls of random cases, each mutated once, run eagerly.

Usage: python -m robustness.fuzz.fuzz_calls SEED COUNT FIRST. Case k depends on SEED and k only, so one
case can be run again.
"""

import sys

import numpy as np

from robustness.problem import draw
from robustness.problem.calls import calls_of
from robustness.problem.grammar import INT8
from support import mutations, subproc
from support.bad_inputs import raised_by

# Multiplications of one call: small, since each case is one call and one mutation.
LARGEST = 20_000


def corrupted_contents(call, rng):
    """A call of the right shapes with hostile contents: any result or error but a crash will do."""
    call = call.copy()
    types = (np.float32, np.int8, np.uint8)
    contents = [
        n for n, a in call.tensors.items() if isinstance(a, np.ndarray) and a.dtype in types
    ]
    if not contents:
        return call
    name = str(rng.choice(contents))
    array = call.tensors[name].copy().reshape(-1)
    if array.size:
        count = int(rng.integers(1, array.size + 1))
        where = rng.choice(array.size, size=count, replace=False)
        bits = np.dtype(f"u{array.itemsize}")
        array.view(bits)[where] = rng.integers(0, 256**array.itemsize, size=count, dtype=bits)
    call.tensors[name] = array.reshape(call.tensors[name].shape)
    return call


def main():
    import tf_rnn_ops

    seed, count, first = (int(a) for a in sys.argv[1:4])
    ops = tf_rnn_ops.raw_ops
    for k in range(first, count):
        rng = np.random.default_rng([seed, k])
        problem = draw.problem(seed, k, LARGEST)
        if problem.type != INT8:
            problem = problem.replace(type="float32")
        found = calls_of(ops, problem)
        call = found[rng.integers(len(found))]
        if k % 4 == 0:
            mutation = mutations.Mutation(
                "hostile contents", corrupted_contents(call, rng), (), False
            )
        else:
            possible = list(mutations.all_mutations(call, ops))
            mutation = possible[rng.integers(len(possible))]
        label = f"{problem} # {call.op} with {mutation.label}; seed {seed} case {k}"
        subproc.emit({"start": k, "label": label})
        kind, message = raised_by(ops, mutation.call, "eager")
        outcome = {"label": label, "raised": kind, "message": message[:300]}
        outcome["hostile"] = mutation.label == "hostile contents"
        outcome["named"] = mutation.is_named(message)
        subproc.emit({"outcome": outcome})
    subproc.emit({"end": True})


if __name__ == "__main__":
    main()
