"""Mutated weights and graphs: a reader of other libraries' files returns or raises ValueError."""

from robustness.fuzz import fuzz_readers

SEED, CASES = 0, 400


def test_mutated_sources():
    cases = (fuzz_readers.numbered(SEED, k) for k in range(CASES))
    outcomes = [fuzz_readers.complaint(*case) for case in cases]
    found = [complaint for complaint, _ in outcomes if complaint]
    assert not found, "\n".join(found)
    refused = sum(no for _, no in outcomes)
    # Some mutations leave a valid source.
    assert CASES / 4 < refused < CASES
