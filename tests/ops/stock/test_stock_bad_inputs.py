"""TensorFlow's own ops with our kernels reject every bad input, and no process dies.

TensorFlow's own shape functions and attribute checks come before the kernel, so what the message
names is TensorFlow's decision. It is tested for our own ops, which run the same checks.
"""

import collections

import pytest
import stock_calls

from support import subproc
from support.selection import all_but

ALLOWED = {
    "eager": {"InvalidArgumentError"},
    # TensorFlow's shape functions raise ValueError while the graph is built.
    "graph": {"InvalidArgumentError", "ValueError"},
}


def _complaint(outcome, allowed):
    if "died" in outcome:
        return f"the process died with {outcome['died']}"
    if outcome["valid"]:
        return f"a valid call raised {outcome['message']}" if outcome["raised"] else None
    if outcome["raised"] is None:
        return "nothing was raised"
    return None if outcome["raised"] in allowed else f"{outcome['raised']}: {outcome['message']}"


@pytest.mark.parametrize("mode", all_but(ALLOWED, "eager"))
def test_refused(mode):
    found = subproc.collect("stock_bad_inputs", mode)
    counts = collections.Counter(o["label"].split(" ")[0] for o in found)
    assert set(counts) == set(stock_calls.NAMES)
    assert min(counts.values()) > 10, counts
    complaints = [(o["label"], _complaint(o, ALLOWED[mode])) for o in found]
    complaints = [f"{label}: {text}" for label, text in complaints if text]
    assert not complaints, f"{len(complaints)} of {len(found)}\n" + "\n".join(complaints)
