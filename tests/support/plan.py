"""Decides which tests a run of .ci/run has, and remembers what a run left out.

    python tests/support/plan.py write --soft SECONDS --hard SECONDS   build/plan.json, for pytest --plan
    python tests/support/plan.py class STEP                            1, 3 or none
    python tests/support/plan.py left-out STEP                         the next run has this step
    python tests/support/plan.py ran STEP                              it has run
    python tests/support/plan.py passed                                all tests of this commit passed

There are three classes of tests:

1. TOUCHED: the tests of what changed since the last landing; tests/touched.txt says which those are.
2. FEATURE: a test of each feature, tests/check.txt.
3. OTHERS: the remaining tests of files that changed, of a sixth of all files, and of the files that the last
   run on this machine left out. None of them starts after the soft deadline. Each run has the next sixth.

The memory is tests.json in the cache folder. A run without it works: the number of sessions of work in the
history gives the sixth, and the commits of the last hours are the change.
"""

import argparse
import json
import os
import pathlib
import subprocess
import time
import zlib

TESTS_DIR = pathlib.Path(__file__).resolve().parents[1]
ROOT = TESTS_DIR.parent
PLAN = ROOT / "build" / "plan.json"
EVERYTHING = "everything"
TOUCHED, FEATURE, OTHERS = 1, 2, 3
# All other tests run within this number of sessions.
TURNS = 6
# Commits that are further apart belong to different sessions of work.
SESSION_GAP = 3600
# The change is at least what was committed within this time: a session and its breaks.
CHANGE_SECONDS = 4 * 3600


def git(*arguments):
    """The lines that git prints, or None where there is no repository or no such commit."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout.splitlines()


class Memory:
    """The memory of the runs on this machine: tests.json in the cache folder.

    Attributes:
        left_out: The names of the test files and steps that the last run left out.
        seconds: {test file: seconds that it took}.
        passed: The commits of which a run has passed, the newest last.
        base: The commit before the change of the last run, None if that passed.
        turn: The part of the other tests that is next; None before the first run that passed.
    """

    def __init__(self, file=None):
        cache = os.environ.get("TF_RNN_OPS_CACHE")
        if not cache:
            cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "tf_rnn_ops")
        self._file = pathlib.Path(file or pathlib.Path(cache).expanduser() / "tests.json")
        try:
            content = json.loads(self._file.read_text())
            self.left_out = {str(name) for name in content["left_out"]}
            self.seconds = {str(name): float(s) for name, s in content["seconds"].items()}
            self.passed = [str(commit) for commit in content["passed"]]
            self.base = content.get("base") and str(content["base"])
            self.turn = content["turn"] if content["turn"] is None else int(content["turn"])
        except FileNotFoundError:
            self._forget()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            print(f"{self._file} is not readable ({error!r}): the run does without it")
            self._forget()

    def _forget(self):
        self.left_out, self.seconds, self.passed, self.base, self.turn = set(), {}, [], None, None

    def save(self):
        content = {
            "left_out": sorted(self.left_out),
            "seconds": {name: round(s, 1) for name, s in sorted(self.seconds.items())},
            "passed": self.passed[-50:],
            "base": self.base,
            "turn": self.turn,
        }
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new = self._file.with_suffix(f".{os.getpid()}")
            new.write_text(json.dumps(content, indent=1))
            new.replace(self._file)
        except OSError as error:
            print(f"{self._file} cannot be written ({error}): the next run does without it")


def base_commit(memory):
    """The commit before the change: the last one that passed here, else one that is hours older.

    If no run has passed here, it is that of the first run, whose change has yet to pass.
    """
    if named := os.environ.get("TF_RNN_OPS_CI_BASE"):
        return named
    for commit in [*reversed(memory.passed), memory.base]:
        if commit and git("merge-base", "--is-ancestor", commit, "HEAD") is not None:
            return commit
    newest = git("log", "-1", "--format=%ct")
    if not newest:
        return None
    older = git("rev-list", "-1", f"--before={int(newest[0]) - CHANGE_SECONDS}", "HEAD")
    return older[0] if older else None


def session_number():
    """How many sessions of work the history has."""
    times = sorted(int(line) for line in git("log", "--format=%ct") or [])
    return sum(b - a > SESSION_GAP for a, b in zip(times, times[1:]))


def read_table(text):
    """{prefix of a source: names of the tests that it touches} from the lines of tests/touched.txt."""
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    return {words[0]: words[1:] for words in lines if words}


def touched_by(file, table):
    """The names of the tests that a changed file touches."""
    parts = file.split("/")
    for count in range(len(parts), 0, -1):
        if (names := table.get("/".join(parts[:count]))) is not None:
            return names
    if parts[0] == "tests" and len(parts) > 2:
        # A test file touches itself, and a helper its folder.
        return ["/".join(parts[1:] if parts[-1].startswith("test_") else parts[1:-1])]
    return [EVERYTHING]


def make(memory, soft, hard):
    """The plan of a run, as JSON has it. `soft` and `hard` are times in seconds since 1970."""
    base = base_commit(memory)
    changed = git("diff", "--no-renames", "--name-only", base) if base else None
    table = read_table((TESTS_DIR / "touched.txt").read_text())
    touched = {EVERYTHING}
    if changed is not None:
        touched = {name for file in changed for name in touched_by(file, table)}
    # Files stay in the list: all of their tests are due.
    folders = {EVERYTHING} & touched or {name for name in touched if not is_file(name)}
    folders = {name for name in folders if not is_in(name.rpartition("/")[0], folders)}
    turn = session_number() if memory.turn is None else memory.turn
    return {
        "base": base if changed is not None else None,
        "changed": len(changed or []),
        "touched": sorted({name for name in touched if is_file(name)} | folders),
        "turn": turn % TURNS,
        "left_out": sorted(memory.left_out),
        "seconds": memory.seconds,
        "soft": soft,
        "hard": hard,
    }


def is_file(name):
    return name.endswith(".py")


def is_in(name, prefixes):
    """Whether a name is one of those, or in a folder that is one of them."""
    return any(f"{name}/".startswith(f"{prefix}/") for prefix in prefixes)


def is_touched(plan, name):
    """Whether a test file or step is of class 1."""
    return EVERYTHING in plan["touched"] or is_in(name, plan["touched"])


def is_due(plan, name):
    """Whether this run has all tests of a file, or a step, of class 3."""
    in_turn = zlib.crc32(name.encode()) % TURNS == plan["turn"]
    return in_turn or name in plan["left_out"] or name in plan["touched"]


def class_of_step(plan, name):
    """The class of a step, None for a step that the run does not have."""
    return TOUCHED if is_touched(plan, name) else OTHERS if is_due(plan, name) else None


def read(file=None):
    return json.loads(pathlib.Path(file or PLAN).read_text())


def _write(options):
    now = time.time()
    memory = Memory()
    plan = make(memory, now + options.soft, now + options.hard)
    if "TF_RNN_OPS_CI_BASE" not in os.environ:
        memory.base = plan["base"]
        memory.save()
    PLAN.parent.mkdir(exist_ok=True)
    PLAN.write_text(json.dumps(plan, indent=1) + "\n")
    if plan["base"]:
        print(f"{plan['changed']} files changed since {plan['base'][:12]}")
    else:
        print("the commit before the change is unknown")
    whole = [name for name in plan["touched"] if is_file(name)]
    print("tests of the change:", *(name for name in plan["touched"] if not is_file(name)))
    print(f"{len(whole)} files with all of their tests:", *whole)
    print(f"part {plan['turn'] + 1} of {TURNS} of the other tests")
    print("left out by the last run:", *(plan["left_out"] or ["nothing"]))


def _class(options):
    print(str(class_of_step(read(), options.step)).lower())


def _left_out(options):
    memory = Memory()
    memory.left_out.add(options.step)
    memory.save()


def _ran(options):
    memory = Memory()
    memory.left_out.discard(options.step)
    memory.save()


def _passed(options):
    memory = Memory()
    memory.passed += git("rev-parse", "HEAD") or []
    memory.base = None
    memory.turn = (read()["turn"] + 1) % TURNS
    memory.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    write = commands.add_parser("write", help="write build/plan.json")
    write.add_argument("--soft", type=int, required=True, help="seconds until the soft deadline")
    write.add_argument("--hard", type=int, required=True, help="seconds until the hard deadline")
    write.set_defaults(run=_write)
    for name, run in (("class", _class), ("left-out", _left_out), ("ran", _ran)):
        command = commands.add_parser(name)
        command.add_argument("step", help="such as neon")
        command.set_defaults(run=run)
    commands.add_parser("passed").set_defaults(run=_passed)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
