"""Selects the tests of a run, which is the value of pytest's --tests:

usual    `make test`: all tests but those marked `thorough`.
all      `make test-all`, and tests that the command line names: all.
landing  `.ci/run`: of the usual tests those that the change touches (TOUCHES) and one of each feature
         (tests/check.txt), all tests of changed test files, and all tests of the files whose turn it is. The
         number of commits gives the turn, so each machine has the same.

    python tests/support/selection.py    the targets of make whose turn it is, or that the change touches
"""

import os
import pathlib
import subprocess
import zlib

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
USUAL, ALL, LANDING = "usual", "all", "landing"
# The other tests are in six parts, of which each landing has one.
TURNS = 6
# The change of a landing is the commits of the last seconds before the newest one: a session of work.
SESSION = 4 * 3600
TARGETS = ("test-neon", "sanitize-quick")
# Whether only its turn brings a test into a landing: support/deadlines.py leaves these out first.
IN_TURN = pytest.StashKey[bool]()
# The tests that a change touches, by the longest prefix of its path: folders and files of tests/, and TARGETS. The C++ tests
# and those on the mock GPU always run. A path without a row touches the tests of its name, as tf_rnn_ops/contrib does
# tests/contrib and tests/ops/snapshot.py does tests/ops; else it touches tests/package.
EVERYTHING = "contrib gpu keras ops package params portable robustness stepper transforms"
TOUCHES = {
    "cc": (
        "contrib gpu ops robustness stepper transforms keras/test_layer_sweep.py keras/test_quantize.py "
        "keras/test_bfloat16_training.py test-neon"
    ),
    "cc/gpu": "gpu",
    "cc/step": "stepper test-neon sanitize-quick",
    "cc/xla": "gpu transforms keras/test_layers_under_xla.py",
    "docs": "params/test_params_docs.py",
    "tests/cc": "test-neon sanitize-quick",
    "tests/conftest.py": EVERYTHING,
    "tests/support": EVERYTHING,
    "tf_rnn_ops/_comparison": "keras/test_compare.py portable",
    "tf_rnn_ops/_formats": "keras/test_onnx_layers.py portable stepper",
    "tf_rnn_ops/_step": "stepper",
    "tf_rnn_ops/autodiff": "keras/test_layer_models.py ops transforms",
    "tf_rnn_ops/keras": "keras params portable stepper",
    "tf_rnn_ops/params": "contrib keras params portable",
    "tf_rnn_ops/plain": "keras ops portable transforms",
    "tf_rnn_ops/raw_ops": "contrib keras ops params portable robustness transforms",
    "tf_rnn_ops/stepper.py": "stepper",
    "tools/requirements": EVERYTHING,
}


def all_but(cases, *usual):
    """Returns `cases` for parametrize; those not in `usual` are thorough."""
    assert all(case in cases for case in usual), f"not all of {usual} are cases"
    return [
        case if case in usual else pytest.param(case, marks=pytest.mark.thorough) for case in cases
    ]


def is_in(name, folder):
    return f"{name}/".startswith(f"{folder}/")


def touched_by(file):
    """The tests and targets that a changed file touches."""
    parts = file.split("/")
    rows = [prefix for prefix in TOUCHES if is_in(file, prefix)]
    if rows:
        return TOUCHES[max(rows, key=len)].split()
    if parts[0] == "tests" and len(parts) > 2:
        return ["/".join(parts[1:] if is_test(file) else parts[1:-1])]
    own = parts[1] if parts[0] == "tf_rnn_ops" else parts[0]
    return [own] if own in EVERYTHING.split() else ["package"]


def is_test(file):
    return file.rpartition("/")[2].startswith("test_")


def git(*arguments):
    """The lines that git prints, None if it fails."""
    command = ["git", "-C", str(TESTS.parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout.splitlines()


def base_commit():
    """The commit before the change, None if git does not know it."""
    if named := os.environ.get("TF_RNN_OPS_CI_BASE"):
        if git("rev-parse", "--verify", f"{named}^{{commit}}") is None:
            raise pytest.UsageError(
                f"TF_RNN_OPS_CI_BASE={named}: a commit of this clone is expected"
            )
        return named
    newest = git("log", "-1", "--format=%ct") or ["0"]
    older = git("rev-list", "-1", f"--before={int(newest[0]) - SESSION}", "HEAD")
    return older[0] if older else None


class Landing:
    """The tests and targets of a landing.

    Attributes:
        base: The commit before the change. Where it is unknown, everything is touched.
        touched: The names of the tests and targets that the change touches.
        turn: The sixth of the other files that is due.
    """

    def __init__(self):
        self.base = base_commit()
        files = git("diff", "--no-renames", "--name-only", self.base) if self.base else None
        self.touched = {*EVERYTHING.split(), *TARGETS}
        if files is not None:
            self.touched = {name for file in files for name in touched_by(file)}
        self.turn = int((git("rev-list", "--count", "HEAD") or [0])[0]) % TURNS
        self._features = {"package/wheel"}
        self._features |= {
            line.removeprefix("tests/") for line in (TESTS / "check.txt").read_text().split()
        }

    def needs(self, name):
        """Whether the change touches a test file or target, or the folder of the file."""
        return any(is_in(name, touched) for touched in self.touched)

    def has_turn(self, name):
        return zlib.crc32(name.encode()) % TURNS == self.turn

    def needs_test(self, item):
        """Whether a landing needs a test even if it has no turn."""
        file = item.path.relative_to(TESTS).as_posix()
        names = (file, f"{file}::{getattr(item, 'originalname', None)}")
        is_feature = any(is_in(name, feature) for name in names for feature in self._features)
        return file in self.touched or is_usual(item) and (is_feature or self.needs(file))


def is_usual(item):
    return item.get_closest_marker("thorough") is None


def select(config, items):
    """Deselects what the run does not have, and moves tests of which only the turn has come to the end."""
    wanted = config.getoption("--tests")
    if wanted is None:
        wanted = ALL if any("::" in argument for argument in config.args) else USUAL
    first, last = items, []
    if wanted == USUAL:
        first = [item for item in items if is_usual(item)]
    elif wanted == LANDING:
        landing = Landing()
        first = [item for item in items if landing.needs_test(item)]
        last = [i for i in items if landing.has_turn(i.path.name) and not landing.needs_test(i)]
    for item in last:
        item.stash[IN_TURN] = True
    chosen = {*first, *last}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [*first, *last]


def main():
    landing = Landing()
    print(*(target for target in TARGETS if landing.needs(target) or landing.has_turn(target)))


if __name__ == "__main__":
    main()
