"""Child process: runs every mutation of every op in one mode and reports what each call raised.

Usage: python -m support.bad_inputs MODE FIRST, where MODE is eager, graph (unknown ranks, so that
the kernel rejects the input) or static (known shapes, so that graph construction rejects it).
"""

import sys

import numpy as np

from robustness.problem import grammar, values
from support import calls, layer_cases, layer_ops, mutations, packed_calls, subproc
from support.reference.spec import RnnSpec


def base_calls(ops, rng):
    """Valid calls that reach every op and every attribute."""
    specs = (
        (RnnSpec("lstm", 2, 6, 4, "bidirectional", num_proj=3), True),
        (RnnSpec("lstm", 3, 5, 5, input_mode="skip_input"), False),
        (RnnSpec("gru", 2, 6, 4, "bidirectional"), False),
        (RnnSpec("rnn_tanh", 1, 6, 4), True),
    )
    found = []
    for spec, time_major in specs:
        found += calls.rnn_calls(ops, spec, 5, 3, rng, time_major)
        found.append(packed_calls.of_rnn(ops, spec, found[-2]))
        found.append(packed_calls.packing_of_rnn(spec, found[-3]))
        found += calls.params_calls(spec, rng)
    for use_peephole in (True, False):
        found += calls.block_calls(ops, (5, 3, 4, 6), rng, use_peephole)
    layers = (
        ("lstm", {}, True),
        ("lstmp", {"input_mask": False}, True),
        ("gru", {"lengths": None, "input_mask": False}, False),
        ("lstm_layer_norm", {"lengths": None, "recurrent_mask": False}, True),
        ("lstm_zoneout", {"lengths": None, "input_mask": False}, False),
        ("rnn_relu", {"bias": False, "recurrent_mask": False}, True),
    )
    for mode, given, time_major in layers:
        case = layer_cases.layer_case(mode, (5, 3, 4, 6), rng, "float32", **given)
        found += layer_ops.calls(ops, case, time_major)
        found.append(packed_calls.of_layer(ops, found[-2]))
        found.append(packed_calls.packing_of_layer(found[-3]))
    for mode in ("lstm", "gru"):
        case = layer_cases.layer_case(
            mode, (5, 3, 4, 6), rng, "float32", input_mask=False, recurrent_mask=False
        )
        found += packed_calls.quantized_layer(ops, layer_ops.calls(ops, case, mode == "lstm")[0])
    for line in ("cell=lstm", "cell=gru adjoint=yes slopes=gates", "cell=tanh"):
        problem = grammar.parse(f"op=LinearRecurrence T=5 B=3 H=6 {line}")
        found.append(calls.call_of_linear(values.case(problem)))
    return found


def _run_in_graph(ops, call, functions):
    """Runs the call in a graph that knows no shape; `functions` keeps the graphs."""
    lists = [len(value) for value in call.tensors.values() if isinstance(value, list)]
    key = repr((call.op, call.attrs, lists))
    if key not in functions:
        functions[key] = calls.trace(ops, call)
    functions[key](*calls.arguments(call))


def raised_by(ops, call, mode, functions=None):
    """(exception type or None, message)."""
    try:
        if mode == "eager":
            calls.run_eagerly(ops, call)
        elif mode == "graph":
            _run_in_graph(ops, call, functions)
        else:
            calls.build(ops, call)
    except Exception as error:  # noqa: BLE001  (which type it is, the parent checks)
        return type(error).__name__, str(error)
    return None, ""


def main():
    import tf_rnn_ops

    mode, first = sys.argv[1], int(sys.argv[2])
    ops = tf_rnn_ops.raw_ops
    rng = np.random.default_rng(5)
    functions = {}
    number = 0
    for call in base_calls(ops, rng):
        found = [mutations.Mutation("valid", call, (), False)]
        found += mutations.all_mutations(call, ops)
        for mutation in found:
            if mode == "static" and mutation.label != "valid" and not mutation.static:
                continue
            label = f"{call.op} ({call.attrs.get('rnn_mode', 'block')}): {mutation.label}"
            if number >= first:
                subproc.emit({"start": number, "label": label})
                kind, message = raised_by(ops, mutation.call, mode, functions)
                outcome = {"label": label, "raised": kind, "message": message[:300]}
                outcome["named"] = mutation.label == "valid" or mutation.is_named(message)
                outcome["valid"] = mutation.label == "valid"
                subproc.emit({"outcome": outcome})
            number += 1
    subproc.emit({"end": True})


if __name__ == "__main__":
    main()
