"""Each request for memory of each op fails in turn.

The outcome is a status or the right result, nothing is held that was not before, and the next call is right.
"""

from support import subproc
from tf_rnn_ops.native import xla


def test_every_request_fails_in_turn(preloaded):
    library = preloaded("failing_memory")
    outcomes = subproc.collect(
        "robustness.anomalies.fail_calls",
        library,
        timeout=400,
        LD_PRELOAD=str(library),
        # TensorFlow's allocator is then the C library's, and the block cache, which keeps nothing,
        # serves what is large.
        TF_ENABLE_ONEDNN_OPTS="0",
        TF_RNN_OPS_CACHE_MB="0",
    )
    wrong = [o for o in outcomes if "died" in o or o["complaint"]]
    assert not wrong, "\n".join(map(str, wrong))
    requests = {}
    for outcome in outcomes:
        requests.setdefault(outcome["kind"], []).append(outcome["requests"])
    # The two that pack and keep their result ask for none the second time; the large calls map blocks.
    assert sorted(requests["tensor"])[2] > 0 and sum(requests["tensor"]) > 200
    assert sum(requests["new"]) > (100 if xla.unavailable() else 200)
    assert sum(requests["mmap"]) >= 3
