"""Each file that loading uses fails in turn.

The outcome is the right result, on kernels of another instruction set where need be, or the package
does without the ops and says why.
"""

import pytest

from support import subproc

pytestmark = pytest.mark.thorough


def test_every_file_fails_in_turn(preloaded):
    library = preloaded("failing_files")
    outcomes = subproc.collect(
        "robustness.anomalies.fail_loading", library, LD_PRELOAD=str(library)
    )
    wrong = [o for o in outcomes if "died" in o or o["complaint"]]
    assert not wrong, "\n".join(map(str, wrong))
    uses = {o["kind"]: o["uses"] for o in outcomes}
    # Each of the two libraries of ops is looked at and loaded; limits are read from files.
    assert uses["open"] >= 4 and uses["read"] >= 3 and uses["dlopen"] >= 2, uses
    assert all(0 < o["refused"] < o["uses"] for o in outcomes), outcomes


def test_every_file_of_a_conversion_fails_in_turn(preloaded, tmp_path):
    library = preloaded("failing_files")
    outcomes = subproc.collect(
        "robustness.anomalies.fail_conversion", library, tmp_path, LD_PRELOAD=str(library)
    )
    died = [o["label"] for o in outcomes if "died" in o]
    # TensorFlow 2.21's NewCheckpointReader ends the process where it cannot read the index of the
    # variables of a model; the check of a model reads two. Then there is no target either.
    assert len(died) <= 2 and all(label.startswith("model read ") for label in died), died
    for label in died:
        assert not (tmp_path / label.split()[-1] / "model/target").exists(), label
    outcomes = [o for o in outcomes if "died" not in o]
    wrong = [o for o in outcomes if o["complaint"]]
    assert not wrong, "\n".join(map(str, wrong))
    uses = {o["label"]: o["uses"] for o in outcomes}
    # The Keras model and the checkpoint are only read.
    assert len(uses) == 12 and sum(count > 0 for count in uses.values()) >= 10, uses
    assert any(o["refused"] == o["uses"] > 0 for o in outcomes), outcomes
