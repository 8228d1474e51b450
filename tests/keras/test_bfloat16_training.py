"""`fit` in bfloat16 follows `fit` in float32, on the kernels of this CPU (bfloat16_training.py)."""

import json
import pathlib

import numpy as np
import pytest

import tf_rnn_ops
from support import subproc

# The losses of 50 steps may differ by this part of the first loss, on average. Most of the difference is of the
# weights of the policy bfloat16, which lose the smallest updates.
ALLOWED = 0.02

SETTINGS = [
    pytest.param({}, id="this machine"),
    pytest.param(
        {"TF_RNN_OPS_BF16_PRODUCTS": "0"}, id="products in float32", marks=pytest.mark.thorough
    ),
    pytest.param({"TF_RNN_OPS_CPU_ISA": "baseline"}, id="baseline", marks=pytest.mark.thorough),
    pytest.param({"TF_RNN_OPS_CPU_ISA": "avx2"}, id="avx2", marks=pytest.mark.thorough),
]


@pytest.mark.parametrize("environment", SETTINGS)
def test_losses_follow_float32(environment):
    # From the folder of the package: Python looks into the present folder first.
    package = pathlib.Path(tf_rnn_ops.__file__).parents[1]
    done = subproc.run(
        ["-m", "bfloat16_training", package], package, timeout=600,
        env=subproc.environment(**environment),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 12
    for layer, losses in found.items():
        first = losses["float32"][0]
        # The model learns: otherwise equal losses say little.
        assert losses["float32"][-1] < 0.7 * first, layer
        for policy in ("mixed_bfloat16", "bfloat16"):
            apart = np.mean(np.abs(np.subtract(losses[policy], losses["float32"])))
            assert apart < ALLOWED * first, (layer, policy, apart / first)
