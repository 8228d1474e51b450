"""Each file that loading uses fails in turn.

The outcome is the right result, on kernels of another instruction set where need be, or the package
does without the ops and says why.
"""

from support import subproc


def test_every_file_fails_in_turn(preloaded):
    library = preloaded("failing_files")
    outcomes = subproc.collect("anomalies.fail_loading", library, LD_PRELOAD=str(library))
    wrong = [o for o in outcomes if "died" in o or o["complaint"]]
    assert not wrong, "\n".join(map(str, wrong))
    uses = {o["kind"]: o["uses"] for o in outcomes}
    # Each of the two libraries of ops is looked at and loaded; limits are read from files.
    assert uses["open"] >= 4 and uses["read"] >= 3 and uses["dlopen"] >= 2, uses
    assert all(0 < o["refused"] < o["uses"] for o in outcomes), outcomes
