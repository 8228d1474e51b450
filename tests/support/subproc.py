"""Runs a module of the tests in a process of its own."""

import json
import os
import pathlib
import subprocess
import sys

TESTS_DIR = pathlib.Path(__file__).resolve().parents[1]
MARK = "@@"


def environment(**extra):
    """The environment of this process with the tests importable, plus `extra` (None removes)."""
    env = dict(os.environ)
    path = [str(TESTS_DIR)] + [p for p in sys.path if p and p != str(TESTS_DIR)]
    env["PYTHONPATH"] = os.pathsep.join(path)
    env["TF_CPP_MIN_LOG_LEVEL"] = "2"
    for name, value in extra.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def run_module(module, *args, timeout=240, **env):
    """Runs `python -m module args`; raises with its output if it fails. Returns stdout."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, args)],
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, (
        f"{module} {args}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    )
    return done.stdout


def emit(record):
    """Called by a child: hands one record to the parent at once, so that a crash loses nothing."""
    print(MARK + json.dumps(record), flush=True)


def collect(module, *args, timeout=240, max_deaths=8, **env):
    """Runs a child that emits "start" and "outcome" per case, and restarts it after a crash.

    The child gets the number of the case to begin with as its last argument, and `env` as
    environment() has it.

    Returns:
        A list with the outcome of every case; a crash is {"died": exit status, "label": ...}.
    """
    outcomes, begin, deaths = [], 0, 0
    while True:
        done = subprocess.run(
            [sys.executable, "-m", module, *map(str, args), str(begin)],
            env=environment(**env),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        lines = [ln[len(MARK) :] for ln in done.stdout.splitlines() if ln.startswith(MARK)]
        records = [json.loads(line) for line in lines]
        outcomes += [r["outcome"] for r in records if "outcome" in r]
        if done.returncode == 0:
            assert records and records[-1].get("end") is True, "the child stopped early"
            return outcomes
        starts = [r for r in records if "start" in r]
        assert starts, f"{module} failed before its first case:\n{done.stderr[-4000:]}"
        outcomes.append({"label": starts[-1]["label"], "died": done.returncode})
        begin = starts[-1]["start"] + 1
        deaths += 1
        assert deaths <= max_deaths, f"{module} keeps dying: {outcomes[-max_deaths:]}"
