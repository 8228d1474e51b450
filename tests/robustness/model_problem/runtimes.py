"""The processes that run exported files; see serve.py."""

import os
import pathlib
import pickle
import select
import subprocess
import sys

_SERVE = pathlib.Path(__file__).with_name("serve.py")
_TIMEOUT = 240


class Died(Exception):
    """A runtime has ended its process, or does not answer."""


class Runtimes:
    """A process for each format, started when it is needed, and again after it has died."""

    def __init__(self):
        self._processes = {}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for process in self._processes.values():
            process.kill()
            process.wait()

    def run(self, format, path, calls):
        """Runs a file.

        Args:
            format: Of FORMATS.
            path: The file.
            calls: [{input: array}] of each call.

        Returns:
            [{output: array}], or a sentence on the error of the runtime.

        Raises:
            Died: The process has ended.
        """
        if format not in self._processes:
            self._processes[format] = self._start(format)
        process = self._processes[format]
        try:
            pickle.dump((str(path), calls), process.stdin)
            process.stdin.flush()
            if not select.select([process.stdout], [], [], _TIMEOUT)[0]:
                raise TimeoutError(f"no answer in {_TIMEOUT} s")
            return pickle.load(process.stdout)
        except (BrokenPipeError, EOFError, TimeoutError) as error:
            del self._processes[format]
            process.kill()
            raise Died(f"the process of {format} ended with {process.wait()}: {error}") from error

    @staticmethod
    def _start(format):
        arguments = [sys.executable, "-I", str(_SERVE), format]
        if format == "tf_saved_model":
            import tf_rnn_ops

            arguments.append(tf_rnn_ops.get_lib())
        if format == "rnn":
            import tf_rnn_ops

            arguments.append(str(pathlib.Path(tf_rnn_ops.__file__).parents[1]))
        return subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )
