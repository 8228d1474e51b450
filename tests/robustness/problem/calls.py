"""The calls of a problem as data: to mutate them, or to repeat them at no cost of preparing."""

import numpy as np

from robustness.problem import values
from robustness.problem.grammar import BLOCK, INT8, LAYER, LINEAR
from support import calls, layer_ops, packed_calls


def calls_of(ops, problem):
    """The valid calls of a problem in float32: its op, the gradient, and what handles weights."""
    case, time_major = values.case(problem), problem.order == "time"
    if problem.type == INT8:
        return packed_calls.of_quantized(ops, case, time_major)
    if problem.op == LINEAR:
        return [calls.call_of_linear(case)]
    if problem.op == BLOCK:
        return calls.calls_of_block(ops, case)
    if problem.op == LAYER:
        found = layer_ops.calls(ops, case, time_major)
        return [packed_calls.of_layer(ops, found[0])] if problem.run == "packed" else found
    found = calls.calls_of_rnn(ops, case, time_major, problem.dropout)
    if problem.run == "packed":
        plain = next(call for call in found if call.op == "CudnnRNNV3")
        return [packed_calls.of_rnn(ops, case.spec, plain)]
    return found + calls.params_calls(case.spec, np.random.default_rng(problem.seed))
