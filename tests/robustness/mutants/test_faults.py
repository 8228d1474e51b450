"""The lists of faults name what the present sources and tests have."""

import pytest

from robustness.mutants import run_faults
from support.native_build import ROOT


@pytest.mark.parametrize("name", run_faults.LISTS)
def test_every_fault_can_be_made(name):
    faults = run_faults.recorded(name)
    assert faults
    for fault in faults:
        assert fault.mutated() != (ROOT / fault.path).read_text()
        tests = fault.found_by.split()
        if name == "instruction_sets":
            assert tests[0] in (*run_faults.Emulated.SOURCES, "neon")
        else:
            assert all((ROOT / "tests" / test).exists() for test in tests)
