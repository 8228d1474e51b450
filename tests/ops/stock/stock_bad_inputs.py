"""Child process: mutated calls of TensorFlow's own ops; reports as support.bad_inputs does.

Usage: python -m stock_bad_inputs MODE FIRST
"""

import sys

import numpy as np
import stock_calls

from support import bad_inputs, calls, mutations, subproc
from support.reference.spec import RnnSpec


def _mutations(call, ops):
    yield mutations.Mutation("valid", call, (), False)
    yield from mutations.all_mutations(call, ops)


def _versions(call, mutation):
    """The mutated call as V3, and as the versions that can express it."""
    yield mutation.call
    changed = mutation.call
    first = call.attrs.get("num_proj") == 0 and changed.attrs.get("num_proj") == 0
    if not first or mutation.label.startswith("sequence_lengths"):
        return
    if call.op in ("CudnnRNNV3", "CudnnRNNBackpropV3"):
        # These two differ from the valid call in sequence_lengths too, or in nothing else.
        if mutation.label not in ("reserve_space of other lengths",):
            yield stock_calls.as_version(changed, 1)
            yield stock_calls.as_version(changed, 2)
    elif call.op != "CudnnRNNParamsSize":
        # The first version has one count: TensorFlow itself compares the lists with it.
        if not mutation.label.startswith("num_params") and not mutation.label.endswith(
            (" shorter", " longer")
        ):
            yield stock_calls.as_first_canonical(changed)


def all_calls(ops, rng):
    """(the call that the others are made from, mutation, call)."""
    specs = (
        RnnSpec("lstm", 2, 6, 4, "bidirectional", num_proj=3),
        RnnSpec("lstm", 2, 5, 4, "bidirectional"),
        RnnSpec("gru", 3, 5, 5, input_mode="skip_input"),
    )
    for spec in specs:
        found = stock_calls.full_length_calls(ops, spec, 5, 3, rng) + calls.params_calls(spec, rng)
        for call in found:
            for mutation in _mutations(call, ops):
                for version in _versions(call, mutation):
                    yield mutation, version


def main():
    import tensorflow as tf

    import tf_rnn_ops

    mode, first = sys.argv[1], int(sys.argv[2])
    assert len(tf_rnn_ops.enable_stock_ops()) == len(stock_calls.NAMES)
    functions = {}
    rng = np.random.default_rng(6)
    for number, (mutation, call) in enumerate(all_calls(tf_rnn_ops.raw_ops, rng)):
        if number < first:
            continue
        label = f"{call.op} ({call.attrs['rnn_mode']}): {mutation.label}"
        subproc.emit({"start": number, "label": label})
        kind, message = bad_inputs.raised_by(tf.raw_ops, call, mode, functions)
        valid = mutation.label == "valid"
        outcome = {"label": label, "raised": kind, "message": message[:300], "valid": valid}
        subproc.emit({"outcome": outcome})
    subproc.emit({"end": True})


if __name__ == "__main__":
    main()
