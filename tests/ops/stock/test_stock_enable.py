"""The registrations of enable_stock_ops, in separate processes, since they cannot be undone."""

import json
import pathlib
import shutil

import stock_calls

import tf_rnn_ops
from support import subproc

NAMES = list(stock_calls.NAMES)


def _child(*args):
    out = subproc.run_module("stock_enable_child", *args)
    (line,) = [ln for ln in out.splitlines() if ln.startswith(subproc.MARK)]
    return json.loads(line.removeprefix(subproc.MARK))


def test_enables_every_op_once():
    record = _child("plain")
    # Without it TensorFlow has no kernel; otherwise the tests of this folder would show nothing.
    assert all(message.startswith("NotFoundError") for message in record["before"])
    assert record["returned"] == [NAMES] * 9
    assert record["kernels"] == dict.fromkeys(NAMES, 1)
    assert record["after"] == ["", ""]


def test_leaves_alone_what_a_second_copy_has_registered(tmp_path):
    # The same library at another path is another library to the loader.
    folder = pathlib.Path(tf_rnn_ops.get_stock_lib()).parent
    for path in folder.glob("*.so"):
        shutil.copy(path, tmp_path)
    record = _child("copy", tmp_path / pathlib.Path(tf_rnn_ops.get_stock_lib()).name)
    assert record["returned"] == [[]] * 9
    assert record["kernels"] == dict.fromkeys(NAMES, 1)
    assert record["before"] == record["after"] == ["", ""]


def test_leaves_alone_the_one_op_that_another_library_serves():
    record = _child("other")
    assert record["returned"] == [[n for n in NAMES if n != "CudnnRNNV2"]] * 9
    assert record["kernels"] == dict.fromkeys(NAMES, 1)
    first, second = record["after"]
    assert first == ""
    assert "the other library's kernel" in second
