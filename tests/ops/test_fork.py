"""A call in the child of a fork, where the threads of TensorFlow's pool do not exist."""

import os
import signal

import tf_rnn_ops
from support import calls
from support.reference.spec import RnnSpec

# Longer than the call takes on any machine; the child ends by it where the call hangs.
SECONDS = 60


def forward_and_backward(rng):
    """A function that calls both and returns the bytes of their results."""
    spec = RnnSpec("lstm", 1, 96, 64)
    found = calls.rnn_calls(tf_rnn_ops.raw_ops, spec, 20, 64, rng)
    functions = [calls.prepared(tf_rnn_ops.raw_ops, call) for call in found]
    return lambda: [calls.result_bytes(function()) for function in functions]


def call_in_child(run, want):
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os._exit(0 if run() == want else 1)
    _, status = os.waitpid(child, 0)
    assert not os.WIFSIGNALED(status), f"the child ended by signal {os.WTERMSIG(status)}"
    assert os.WEXITSTATUS(status) == 0, "another result"


def test_a_call_in_a_child_is_that_of_its_parent(rng):
    run = forward_and_backward(rng)
    want = run()
    call_in_child(run, want)
    assert run() == want
