"""Child process: random valid calls, each mutated once, run eagerly.

Usage: python -m fuzz.fuzz_calls SEED COUNT FIRST. Case k depends on SEED and k alone, so one case
can be run again.
"""

import sys

import numpy as np

from support import calls, cases, layer_cases, layer_ops, mutations, subproc
from support.bad_inputs import raised_by


def random_call(ops, rng):
    """A valid call of a random op with a random configuration."""
    family = rng.integers(4)
    if family == 0:
        shape = tuple(int(n) for n in rng.integers(1, 9, size=4))
        seq_len_max = int(rng.integers(0, shape[0] + 1))
        found = calls.block_calls(ops, shape, rng, bool(rng.integers(2)), seq_len_max)
    elif family == 3:
        case = layer_cases.random_layer_case(str(rng.choice(layer_cases.MODES)), rng, "float32")
        found = layer_ops.calls(ops, case, bool(rng.integers(2)))
    else:
        spec = cases.random_spec(rng)
        if family == 1:
            found = calls.params_calls(spec, rng)
        else:
            steps, batch = (int(n) for n in rng.integers(1, 7, size=2))
            dropout = float(rng.choice([0.0, 0.5]))
            found = calls.rnn_calls(ops, spec, steps, batch, rng, bool(rng.integers(2)), dropout)
    return found[rng.integers(len(found))]


def corrupted_contents(call, rng):
    """A call of the right shapes with hostile contents: any result or error but a crash will do."""
    call = call.copy()
    floats = [
        n for n, a in call.tensors.items() if isinstance(a, np.ndarray) and a.dtype == np.float32
    ]
    if not floats:
        return call
    name = str(rng.choice(floats))
    array = call.tensors[name].copy().reshape(-1)
    if array.size:
        count = int(rng.integers(1, array.size + 1))
        where = rng.choice(array.size, size=count, replace=False)
        array.view(np.uint32)[where] = rng.integers(0, 2**32, size=count, dtype=np.uint32)
    call.tensors[name] = array.reshape(call.tensors[name].shape)
    return call


def main():
    import tf_rnn_ops

    seed, count, first = (int(a) for a in sys.argv[1:4])
    ops = tf_rnn_ops.raw_ops
    for k in range(first, count):
        rng = np.random.default_rng([seed, k])
        call = random_call(ops, rng)
        if k % 4 == 0:
            mutation = mutations.Mutation(
                "hostile contents", corrupted_contents(call, rng), (), False
            )
        else:
            possible = list(mutations.all_mutations(call, ops))
            mutation = possible[rng.integers(len(possible))]
        label = f"{call.op} {call.attrs} seed {seed} case {k}: {mutation.label}"
        subproc.emit({"start": k, "label": label})
        kind, message = raised_by(ops, mutation.call, "eager")
        outcome = {"label": label, "raised": kind, "message": message[:300]}
        outcome["hostile"] = mutation.label == "hostile contents"
        outcome["named"] = mutation.is_named(message)
        subproc.emit({"outcome": outcome})
    subproc.emit({"end": True})


if __name__ == "__main__":
    main()
