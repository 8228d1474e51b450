"""Forks processes that have TensorFlow and Keras imported already, for subproc.run.

Importing both takes four seconds of CPU, most of what a small test in a process of its own takes.
The server has imported them, has not used them, and has never imported tf_rnn_ops, so what a fork
does with that is what a new process would do.

A request is a line of JSON on stdin; the answers, two lines, are the number of the process and, when
it has ended, its exit status as subprocess gives it.
"""

import atexit
import ctypes
import gc
import json
import os
import runpy
import sys
import traceback
import types

# Variables that a request may set to other values than the server, since no code has read them yet.
OWN = "TF_RNN_OPS_"


def _redirect(path, fd, flags):
    opened = os.open(path, flags, 0o600)
    os.dup2(opened, fd)
    os.close(opened)


def _run(arguments):
    """As Python with these arguments."""
    first, *rest = arguments
    if first == "-m":
        sys.argv, sys.path[0] = rest, os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    else:
        sys.argv, sys.path[0] = arguments, os.path.dirname(first)
        runpy.run_path(first, run_name="__main__")


def _become(request):
    """Runs a request in this process, a fork, and ends it."""
    _redirect(os.devnull, 0, os.O_RDONLY)
    for fd, name in ((1, "stdout"), (2, "stderr")):
        _redirect(request[name], fd, os.O_WRONLY | os.O_CREAT)
    for name in [n for n in os.environ if n.startswith(OWN)]:
        del os.environ[name]
    os.environ.update(request["environment"])
    sys.path[1:] = request["path"] + sys.path[1:]
    os.chdir(request["folder"])
    _leave(_status_of(request["arguments"]))


def _status_of(arguments):
    try:
        _run(arguments)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _leave(status):
    """Ends the process like an interpreter, but does not free the modules, which takes a second."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).exit(status)


def main():
    import keras  # noqa: F401
    import tensorflow  # noqa: F401

    gc.freeze()  # else collecting writes to every page that the forks share
    answers = os.dup(1)
    with os.fdopen(os.dup(0)) as requests:
        for line in requests:
            assert "tf_rnn_ops" not in sys.modules
            child = os.fork()
            if child == 0:
                os.close(answers)
                requests.close()
                _become(json.loads(line))
            os.write(answers, f"{child}\n".encode())
            _, status = os.waitpid(child, 0)
            os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
