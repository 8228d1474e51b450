"""Inputs and places that once ended the process; each check runs in one of its own."""

import pytest

from support import subproc

CHECKS = (
    "constants_of_unknown_shape",
    "folding_without_a_device",
    "unaligned_scalars",
    "small_stack",
)


@pytest.mark.parametrize("check", CHECKS)
def test_does_not_end_the_process(check):
    subproc.run_module("ops.unusual_tensors", check)
