"""The ops for XLA are there wherever TensorFlow lets us build them: the other tests skip without them."""

import pathlib
import subprocess

import pytest
import tensorflow as tf

from support import subproc
from tf_rnn_ops.native import xla

HERE = pathlib.Path(__file__).resolve().parent


def test_the_ops_for_xla_load():
    version = tuple(int(number) for number in tf.__version__.split(".")[:2])
    if version >= (2, 20):
        assert xla.unavailable() is None
    else:
        assert "they need TensorFlow 2.20 or later" in xla.unavailable()


_LOADS_AFTER = """
import ctypes, sys
import tensorflow as tf
assert ctypes.CDLL(sys.argv[1]).register_before()
from tf_rnn_ops.native import xla
from tf_rnn_ops import raw_ops

def call(op, **inputs):
    return tf.function(lambda: op(**inputs), jit_compile=True)()

x, state = tf.zeros([2, 1, 3]), tf.zeros([1, 4])
weights = {"kernel": tf.zeros([3, 4]), "recurrent_kernel": tf.zeros([4, 4])}
try:
    call(raw_ops.LayerRNN, input=x, input_h=state, input_c=0.0, rnn_mode="rnn_tanh", **weights)
except tf.errors.InvalidArgumentError as error:
    print("Op type not" if "unsupported operations" in str(error) else error)
block = {"x": x, "cs_prev": state, "h_prev": state, "w": tf.zeros([7, 16]), "b": tf.zeros([16])}
peepholes = {name: tf.zeros([4]) for name in ("wci", "wcf", "wco")}
print(call(raw_ops.BlockLSTMV2, seq_len_max=2, **block, **peepholes).h.shape)
"""


@pytest.mark.thorough
@pytest.mark.skipif(xla.unavailable() is not None, reason="there are no ops for XLA")
def test_a_handler_that_cannot_be_registered_is_reported(tmp_path):
    """Its op stays without a kernel for XLA, the others have theirs."""
    library = tmp_path / "registered_before.so"
    flags = [*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags()]
    cc = pathlib.Path(tf.sysconfig.get_lib()) / "libtensorflow_cc.so.2"
    source = str(HERE / "registered_before.cc")
    subprocess.run(
        ["g++", "-O0", "-w", "-fPIC", "-shared", source, "-o", str(library), *flags, str(cc)],
        check=True,
    )
    done = subproc.run(["-c", _LOADS_AFTER, library], env=subproc.environment())
    assert done.returncode == 0, done.stderr
    assert "XLA cannot compile TfRnnOps>LayerRNN for Host: " in done.stderr
    assert done.stderr.count("XLA cannot compile") == 1
    assert done.stdout.splitlines() == ["Op type not", "(2, 1, 4)"]


_SHORT_ROWS = """
import tensorflow as tf
from tf_rnn_ops import raw_ops

@tf.function(jit_compile=True)
def call(x, state, lengths):
    return raw_ops.LayerRNN(
        input=x, input_h=state, input_c=state, kernel=tf.zeros([8, 64]),
        recurrent_kernel=tf.zeros([16, 64]), sequence_lengths=lengths, is_training=True,
    ).reserve_space

space = call(tf.ones([100, 2, 8]), tf.zeros([2, 16]), tf.constant([1, 2]))
print(space.shape[0], int(tf.math.count_nonzero(space[-(space.shape[0] // 2):])))
"""


@pytest.mark.thorough
@pytest.mark.skipif(xla.unavailable() is not None, reason="there are no ops for XLA")
def test_no_old_memory_is_in_what_short_rows_leave_over():
    """malloc fills what it gives with bytes that are not 0."""
    environment = subproc.environment(MALLOC_PERTURB_="90")
    done = subproc.run(["-c", _SHORT_ROWS], env=environment)
    assert done.returncode == 0, done.stderr
    size, other_than_zero = map(int, done.stdout.split())
    assert size > 1000 and other_than_zero == 0
