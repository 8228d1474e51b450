"""Runs a module of the tests in a process of its own."""

import atexit
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile

from support import fork_server

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


# A test that starts the server may have set variables.
_ENVIRONMENT = environment()


class _Server:
    """A fork server and the environment that it has."""

    def __init__(self):
        self.environment = self._of_others(_ENVIRONMENT)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.fork_server"], env=_ENVIRONMENT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        atexit.register(self.process.stdin.close)

    @staticmethod
    def _of_others(env):
        """The environment variables that Python, TensorFlow and Keras may have read at their import."""
        names = [n for n in env if n != "PYTHONPATH" and not n.startswith(fork_server.OWN)]
        # The environment of the running test.
        return {n: env[n] for n in names if not n.startswith("PYTEST_")}

    def can_run(self, env):
        return self._of_others(env) == self.environment

    def run(self, arguments, folder, env, timeout):
        with tempfile.TemporaryDirectory() as out:
            stdout, stderr = (pathlib.Path(out, name) for name in ("stdout", "stderr"))
            request = {
                "arguments": arguments, "folder": str(folder or os.getcwd()),
                "path": [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p],
                "environment": {n: v for n, v in env.items() if n.startswith(fork_server.OWN)},
                "stdout": str(stdout), "stderr": str(stderr),
            }  # fmt: skip
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            child = int(self._line())
            if not select.select([self.process.stdout], [], [], timeout)[0]:
                os.kill(child, signal.SIGKILL)
                self._line()
                raise subprocess.TimeoutExpired(arguments, timeout)
            status = int(self._line())
            return subprocess.CompletedProcess(
                arguments, status, stdout.read_text(), stderr.read_text()
            )

    def _line(self):
        line = self.process.stdout.readline()
        assert line, "the fork server has ended"
        return line


_server = None


def run(arguments, folder=None, timeout=240, env=None):
    """Runs Python with these arguments; returns what subprocess.run does, with both outputs.

    TensorFlow and Keras may be imported already; they are not if `env` sets what they read.
    """
    global _server
    arguments = list(map(str, arguments))
    env = dict(os.environ) if env is None else env
    # A driver of a GPU may not be forked.
    if os.environ.get("TF_RNN_OPS_TEST_DEVICE", "CPU").startswith("CPU"):
        if _server is None:
            _server = _Server()
        if _server.can_run(env):
            return _server.run(arguments, folder, env, timeout)
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True,
        timeout=timeout, check=False,
    )  # fmt: skip


def run_module(module, *args, timeout=240, **env):
    """Runs `python -m module args`; raises with its output if it fails. Returns stdout."""
    done = run(["-m", module, *args], timeout=timeout, env=environment(**env))
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
        done = run(["-m", module, *args, begin], timeout=timeout, env=environment(**env))
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
