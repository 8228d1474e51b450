"""Child process: lets each use of a file fail in turn while models and checkpoints are converted.

Usage: python -m robustness.anomalies.fail_conversion LIBRARY FOLDER FIRST, with LIBRARY, which failing_files.cc
makes, preloaded. The files to convert are in FOLDER. Only uses of these files fail.
"""

import contextlib
import ctypes
import io
import pathlib
import shutil
import sys
import traceback

import keras
import numpy as np
import tensorflow as tf

from portable import graphs  # of the tests
from support import cases, subproc, tf_ops
from support.reference.spec import RnnSpec
from tf_rnn_ops import contrib
from tf_rnn_ops._commands import compare as compare_command
from tf_rnn_ops._commands import portable as portable_command

KINDS = {"open": 1, "read": 2, "write": 4}
# More uses than a conversion makes.
MOST = 1000


class _Command:
    """A command line: it ends with 0, or with 2 and one line."""

    def __init__(self, main, arguments, target=None):
        self.main, self.arguments, self.target = main, list(map(str, arguments)), target

    def clear(self):
        """Removes what the last run left."""
        if self.target is not None and self.target.is_dir():
            shutil.rmtree(self.target)
        elif self.target is not None:
            self.target.unlink(missing_ok=True)

    def run(self):
        """Returns the line of the command's error, or None."""
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            status = self.main(self.arguments)
        if status == 2:
            (line,) = said.getvalue().splitlines()
            return line
        assert status == 0, f"status {status}: {printed.getvalue()}"
        return None

    def found(self):
        """{path of a file in the target: its content}; None if there is no target."""
        if self.target is None or not self.target.exists():
            return None
        files = [f for f in [self.target, *self.target.rglob("*")] if f.is_file()]
        # The names in a graph are others each time; that it runs the command has checked.
        return {f: f.suffix == ".pb" or f.read_bytes() for f in files}

    # A command that fails leaves no target.
    refused = None


class _Checkpoint:
    """A checkpoint of TensorFlow 1 for a buffer, which keeps its numbers where it is not read."""

    def __init__(self, folder):
        params = contrib.CudnnLSTM(2, 4, 3).params_size()
        self.buffer = tf.Variable(np.linspace(-1, 1, int(params)), dtype=tf.float32)
        saveable = contrib.CudnnLSTMSaveable(self.buffer, 2, 4, 3)
        self.saver = tf.compat.v1.train.Saver([saveable])
        self.path = self.saver.save(None, str(folder / "weights"))
        self.refused = np.zeros(int(params)).tolist()

    def clear(self):
        self.buffer.assign(self.refused)

    def run(self):
        try:
            self.saver.restore(None, self.path)
        except (ValueError, tf.errors.OpError) as error:
            return str(error)
        return None

    def found(self):
        return self.buffer.numpy().tolist()


class _Module(tf.Module):
    def __init__(self, case):
        tensors = tf_ops.rnn_tensors(case).inputs()
        self.params, self.x = tf.Variable(tensors.pop("params")), tensors.pop("input")
        self.others, self.attrs = tensors, case.spec.attrs()

    @tf.function
    def __call__(self, x):
        return tf.raw_ops.CudnnRNNV3(
            input=x, params=self.params, **self.others, **self.attrs, is_training=False
        ).output


def _subjects(folder):
    """{name: object to convert}. Each object has its own folder."""
    case = cases.rnn_case(RnnSpec("gru", 1, 5, 3), 4, 2, np.random.default_rng(0), "float32")
    module = _Module(case)
    run = module.__call__.get_concrete_function(tf.TensorSpec(module.x.shape, tf.float32, "x"))
    tf.saved_model.save(module, str(folder / "model/source"), signatures=run)
    (folder / "graph").mkdir()
    graph_def, feeds = graphs.graph_of("CudnnRNNV3", case)
    (folder / "graph/source.pb").write_bytes(graph_def.SerializeToString())
    np.savez(folder / "graph/inputs.npz", **feeds)
    (folder / "keras").mkdir()
    layers = [keras.Input((4, 3)), keras.layers.LSTM(5)]
    keras.Sequential(layers).save(folder / "keras/model.keras")
    (folder / "checkpoint").mkdir()
    model, graph = folder / "model", folder / "graph"
    check = ["--verify-inputs", graph / "inputs.npz", "--outputs", *graphs.OUTPUTS]
    targets = {"model": model / "target", "graph": graph / "target.pb"}
    arguments = {
        "model": [model / "source", targets["model"]],
        "graph": [graph / "source.pb", targets["graph"], *check],
        "keras": [folder / "keras/model.keras", "--repeats", "1", "--batch-size", "2"],
    }
    mains = {
        "model": portable_command.main,
        "graph": portable_command.main,
        "keras": compare_command.main,
    }
    found = {name: _Command(mains[name], arguments[name], targets.get(name)) for name in mains}
    found["checkpoint"] = _Checkpoint(folder / "checkpoint")
    return found


def _outcome(library, subject, folder, kind, first, start):
    """Makes each use fail in turn. Returns the number of uses, the number of rejections, and the findings."""
    subject.clear()
    subject.run()
    want, files, refusals = subject.found(), _files(folder), 0
    for n in range(first, MOST):
        start(n)
        subject.clear()
        library.fail_use(KINDS[kind], n)
        try:
            refused, raised = subject.run(), None
        except BaseException:
            refused, raised = None, traceback.format_exc()
        failed = bool(library.stop_failing())
        complaint = raised
        if refused is not None and not failed:
            complaint = f"refused although no use failed: {refused}"
        elif raised is None and subject.found() != (want if refused is None else subject.refused):
            complaint = f"another result; refused: {refused}"
        elif more := _files(folder) - files:
            complaint = f"left behind: {sorted(more)}; refused: {refused}"
        if complaint or not failed:
            return {"uses": n - 1, "refused": refusals, "complaint": complaint}
        refusals += refused is not None
    return {"uses": MOST, "refused": refusals, "complaint": "uses without end"}


def _files(folder):
    return {str(f.relative_to(folder)) for f in folder.rglob("*")}


def main():
    library, folder, first = ctypes.CDLL(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    library.fail_use.argtypes = (ctypes.c_int, ctypes.c_long)
    library.watch.argtypes = (ctypes.c_char_p,)
    folder = folder.resolve() / str(first)
    subjects = _subjects(folder)
    library.watch(str(folder).encode())
    todo = [(name, kind) for name in subjects for kind in KINDS]
    # A process that takes over goes on with the next use.
    begin, done = divmod(first, MOST)
    for k, (name, kind) in list(enumerate(todo))[begin:]:
        label = f"{name} {kind}"

        def start(n, k=k, label=label):
            subproc.emit({"start": k * MOST + n - 1, "label": f"{label} {n} in {folder.name}"})

        outcome = _outcome(library, subjects[name], folder / name, kind, done + 1, start)
        subproc.emit({"outcome": {"label": label, **outcome}})
        done = 0
    subproc.emit({"end": True})


if __name__ == "__main__":
    main()
