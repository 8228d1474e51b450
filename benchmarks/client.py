"""The driver's side of a worker process."""

import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class WorkerError(Exception):
    """The peer is absent, or cannot do what was asked."""


_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _part_from_the_driver():
    # The system ends every process of a group that loses its shell while one is stopped.
    os.setpgrp()
    # A stopped process that its driver left alone would stay for ever.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """A peer in a process of its own, which is stopped while it is not asked.

    WHY: the threads of several libraries spin for many milliseconds after a call (ONNX Runtime's,
    OpenMP's), and would take their CPUs from the peer that is asked next.

    Args:
      name: What tables call it.
      spec: What the worker imports: a module of benchmarks.peers and, behind a colon, a variant.
      threads: Its threads.
      environment: Variables on top of this process's.
      prefix: A command that runs its arguments, such as that of benchmarks.quota.
    """

    def __init__(self, name, spec, threads, environment=None, prefix=()):
        self.name = name
        # The package under test is the installed one; only this folder comes from the tree.
        env = dict(os.environ, PYTHONPATH=os.environ.get("BENCH_PYTHONPATH", ""))
        env["CUDA_VISIBLE_DEVICES"] = "-1"  # a GPU would take the ops, and each process its memory
        env.update(environment or {})
        self._command = [
            *prefix,
            sys.executable,
            "-c",
            _START,
            str(ROOT),
            spec,
            "--threads",
            str(threads),
        ]
        self._env = env
        self._start()

    def _start(self):
        self.process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._env,
            bufsize=1,
            preexec_fn=_part_from_the_driver,
        )
        try:
            self.version = self._answer()["version"]
        except WorkerError:
            self.close()
            raise

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise WorkerError(f"the process ended with code {self.process.wait()}")
        answer = json.loads(line)
        if not answer.pop("ok"):
            raise WorkerError(answer["error"])
        return answer

    def _answer(self):
        try:
            return self._read()
        finally:
            self.process.send_signal(signal.SIGSTOP)

    def _ask(self, **command):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
        except BrokenPipeError:
            pass  # _read says with what code it ended
        return self._answer()

    def prepare(self, problem, training, save):
        """Builds the problem, runs it once and leaves the results in the file `save`.

        A process that an earlier problem killed is started again.
        """
        if self.process.poll() is not None:
            self._start()
        self._ask(do="prepare", problem=problem, training=training, save=str(save))

    def time(self, runs):
        """Seconds of each of `runs` runs."""
        return self._ask(do="time", runs=runs)["seconds"]

    def memory(self, problem, training):
        """What memory.measure says; of use in a fresh process only."""
        return self._ask(do="memory", problem=problem, training=training)["memory"]

    def close(self):
        self.process.kill()
        self.process.wait()


# The source tree is put behind the installed packages, so that tf_rnn_ops is the installed one.
_START = (
    "import sys; root = sys.argv.pop(1); sys.path = [p for p in sys.path if p] + [root]; "
    "from benchmarks.worker import main; main()"
)
