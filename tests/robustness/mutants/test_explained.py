"""explained.txt, instruction_sets.txt and the table of tested files name what the present sources have."""

from robustness.mutants import instruction_sets, python_faults, run_mutants, tested
from support.native_build import ROOT


def test_every_explained_mutant_can_be_made():
    present = {key for group in tested.GROUPS for key in run_mutants.mutants(group)}
    assert sorted(run_mutants.explained() - present) == []


def test_every_explained_mutant_has_a_reason():
    lines = run_mutants.EXPLAINED.read_text().splitlines()
    entries = [line for line in lines if line and not line.startswith("#")]
    assert entries and [line for line in entries if not line.partition(" # ")[2].strip()] == []


def test_every_python_file_has_tests_that_exist():
    for path in tested.PYTHON_FILES:
        assert any(path.startswith(prefix) for prefix in tested.PYTHON_TESTS), path
    for prefix, tests in tested.PYTHON_TESTS.items():
        assert any(path.startswith(prefix) for path in tested.PYTHON_FILES), prefix
        assert [test for test in tests if not (ROOT / test).exists()] == []


def test_every_fault_of_an_instruction_set_can_be_made():
    faults = instruction_sets.recorded()
    assert {fault.object for fault in faults} == {"kernels", "pieces", "neon"}
    for fault in faults:
        assert (ROOT / fault.path).read_text().count(fault.text) == 1, fault
        assert fault.text != fault.replacement


def test_every_fault_of_the_python_package_can_be_made():
    for fault in python_faults.recorded():
        assert fault.mutated() != (ROOT / fault.path).read_text()
        assert all((ROOT / "tests" / name).exists() for name in fault.tests.split())
