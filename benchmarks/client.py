"""The driver's side of the connection to a worker process."""

import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class WorkerError(Exception):
    """The library is absent, or cannot run the command."""


_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _part_from_the_driver():
    # WHY a new group: the system ends every process of a group that loses its shell while one process is
    # stopped.
    os.setpgrp()
    # WHY a signal at the end of the driver: a stopped process would never end.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """A library in its own process, which is stopped while it has no command.

    WHY: the threads of several libraries (ONNX Runtime, OpenMP) spin for many milliseconds after a call,
    and would occupy CPUs during the call of the next library.

    Args:
        name: The name of the library in the table of benchmarks.peers.
        threads: The number of threads.
        device: TensorFlow's name of a device, or "" for the CPU.
        clock: "wall" or "cpu".
    """

    def __init__(self, name, threads, device="", clock="wall"):
        self.name = name
        # The package under test is the installed package. Only the folder benchmarks comes from the source
        # tree.
        env = dict(os.environ, PYTHONPATH=os.environ.get("BENCH_PYTHONPATH", ""))
        if device.startswith("GPU"):
            # All processes use one GPU. Without this variable the first TensorFlow reserves all of its memory.
            env["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
        else:
            # Otherwise the ops would run on a GPU, and each process would reserve its memory.
            env["CUDA_VISIBLE_DEVICES"] = "-1"
        options = ["--threads", str(threads), "--device", device, "--clock", clock]
        self._command = [sys.executable, "-c", _START, str(ROOT), name, *options]
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
            pass  # _read() reports the exit code
        return self._answer()

    def prepare(self, problem, training, save):
        """Builds the problem, runs it once and writes the results to the file `save`.

        If an earlier problem has ended the process, it is started again.
        """
        if self.process.poll() is not None:
            self._start()
        self._ask(do="prepare", problem=problem, training=training, save=str(save))

    def time(self, runs):
        """The seconds of one of `runs` runs."""
        return self._ask(do="time", runs=runs)["seconds"]

    def memory(self, problem, training):
        """The result of memory.measure, which is right only in a new process."""
        return self._ask(do="memory", problem=problem, training=training)["memory"]

    def close(self):
        self.process.kill()
        self.process.wait()


# The source tree comes after the installed packages in the path, so that the installed tf_rnn_ops is used.
_START = (
    "import sys; root = sys.argv.pop(1); sys.path = [p for p in sys.path if p] + [root]; "
    "from benchmarks.worker import main; main()"
)
