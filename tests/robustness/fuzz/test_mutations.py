"""A seeded fuzzer: mutate one shape, length or attribute of a random valid call.

TF_RNN_OPS_FUZZ_COUNT and TF_RNN_OPS_FUZZ_SEED make it run longer or elsewhere.
"""

import os

from support import subproc

COUNT = int(os.environ.get("TF_RNN_OPS_FUZZ_COUNT", "500"))
SEED = int(os.environ.get("TF_RNN_OPS_FUZZ_SEED", "1"))


def _complaint(outcome):
    if "died" in outcome:
        return f"the process died with {outcome['died']}"
    if outcome["hostile"]:
        # Any bits are valid contents, except in the header of reserve_space.
        fine = outcome["raised"] in (None, "InvalidArgumentError")
    else:
        fine = outcome["raised"] == "InvalidArgumentError" and outcome["named"]
    return None if fine else f"raised {outcome['raised']} {outcome['message']}"


def test_mutated_calls_are_refused():
    print(f"seed {SEED}, {COUNT} cases")
    outcomes = subproc.collect("robustness.fuzz.fuzz_calls", SEED, COUNT, timeout=400)
    assert len(outcomes) == COUNT
    complaints = [f"{o['label']}: {_complaint(o)}" for o in outcomes if _complaint(o)]
    assert not complaints, f"{len(complaints)} of {COUNT}\n" + "\n".join(complaints[:40])
