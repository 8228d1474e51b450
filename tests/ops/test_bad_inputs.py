"""Every wrong shape, value and attribute raises, names the argument, and kills no process.

The calls run in child processes, in eager mode, in graphs that know no shape (so the kernel has to
reject them) and in graphs with all shapes (so construction has to reject them).
"""

import collections

import pytest

from support import subproc
from support.selection import all_but

OPS = (
    "CudnnRNNV3",
    "StatelessCudnnRNNV3",
    "CudnnRNNBackpropV3",
    "CudnnRNNParamsSize",
    "CudnnRNNCanonicalToParamsV2",
    "CudnnRNNParamsToCanonicalV2",
    "BlockLSTMV2",
    "BlockLSTMGradV2",
    "LayerRNN",
    "LayerRNNBackprop",
    "CudnnRNNV3Packed",
    "LayerRNNPacked",
    "PackCudnnRNNParams",
    "PackLayerRNN",
    "QuantizedLayerRNN",
    "PackQuantizedLayerRNN",
    "LinearRecurrence",
)
# Attributes and shape functions raise ValueError while a graph is built.
ALLOWED = {
    "eager": {"InvalidArgumentError"},
    "graph": {"InvalidArgumentError", "ValueError"},
    "static": {"InvalidArgumentError", "ValueError"},
}


def _complaint(outcome, allowed):
    if "died" in outcome:
        return f"the process died with {outcome['died']}"
    if outcome["valid"]:
        return f"a valid call raised {outcome['message']}" if outcome["raised"] else None
    if outcome["raised"] is None:
        return "nothing was raised"
    if outcome["raised"] not in allowed:
        return f"raised {outcome['raised']}: {outcome['message']}"
    if not outcome["named"]:
        return f"the message names no argument: {outcome['message']}"
    return None


@pytest.mark.parametrize("mode", all_but(ALLOWED, "eager", "graph"))
def test_refused_by_name(mode):
    found = subproc.collect("support.bad_inputs", mode)
    counts = collections.Counter(o["label"].split(" ")[0] for o in found)
    assert set(counts) == set(OPS)
    assert min(counts.values()) > 20
    assert sum(1 for o in found if o.get("valid")) >= 2 * len(OPS)
    complaints = [(o["label"], _complaint(o, ALLOWED[mode])) for o in found]
    complaints = [f"{label}: {text}" for label, text in complaints if text]
    assert not complaints, f"{len(complaints)} of {len(found)}\n" + "\n".join(complaints)
