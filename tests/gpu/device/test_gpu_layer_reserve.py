"""A reserve space of LayerRNN on the CPU given to a gradient on the GPU, and the reverse."""

import itertools

import pytest
import tensorflow as tf

import tf_rnn_ops
from support import devices, layer_cases, layer_ops
from support.selection import all_but
from tf_rnn_ops.native import xla

ops = tf_rnn_ops.raw_ops

pytestmark = pytest.mark.usefixtures("each_algorithm", "everything_else_on_the_cpu")

# 64 units fill the vectors of every CPU. So a GPU's reserve space, with its larger header, is larger than
# a CPU's for any lengths.
SHAPES = {"usual": (5, 3, 4, 64), "no steps": (0, 3, 4, 6), "no rows": (5, 0, 4, 6)}
# Mode, type and shape.
CALLS = list(itertools.product(layer_cases.MODES, ("float32", "float64", "bfloat16"), SHAPES))
USUAL_CALLS = (
    ("rnn_relu", "float32", "usual"),
    ("rnn_tanh", "float64", "no steps"),
    ("lstm", "bfloat16", "usual"),
    ("lstmp", "float32", "no rows"),
    ("lstm_layer_norm", "float64", "usual"),
    ("lstm_zoneout", "bfloat16", "no steps"),
    ("gru", "float32", "no steps"),
    ("gru_zoneout", "float64", "no rows"),
    ("gru_reset_before", "bfloat16", "no rows"),
    ("rnn", "float32", "usual"),
)
ENGINES = ("ops", "xla") if xla.unavailable() is None else ("ops",)


class _Compiled:
    """raw_ops, each op compiled by XLA for the device in scope."""

    def __getattr__(self, name):
        op = getattr(ops, name)

        def run(**arguments):
            tensors = {n: a for n, a in arguments.items() if tf.is_tensor(a)}
            attrs = {n: a for n, a in arguments.items() if n not in tensors}
            return tf.function(lambda given: op(**given, **attrs), jit_compile=True)(tensors)

        return run


class _On:
    """Ops on a device of one kind."""

    def __init__(self, raw, device):
        self._raw, self._device = raw, device

    def __getattr__(self, name):
        op = getattr(self._raw, name)

        def run(**arguments):
            with tf.device(self._device):
                return op(**arguments)

        return run


def _made(raw, case, device):
    """A result of the forward op whose reserve space a reader on any device may be given."""
    result = layer_ops.forward(_On(raw, device), case)
    return result._replace(reserve_space=tf.constant(result.reserve_space.numpy()))


@pytest.mark.parametrize("call", all_but(CALLS, *USUAL_CALLS), ids="-".join)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_reserve_space_of_another_kind_of_device(engine, call, rng):
    mode, dtype, shape = call
    raw = {"ops": ops, "xla": _Compiled()}[engine]
    case = layer_cases.layer_case(mode, SHAPES[shape], rng, dtype)
    for maker, reader in ((devices.NAME, "CPU:0"), ("CPU:0", devices.NAME)):
        result = _made(raw, case, maker)
        with pytest.raises(tf.errors.InvalidArgumentError, match="reserve_space.* kind of device"):
            layer_ops.backward(_On(raw, reader), case, result)


@pytest.mark.parametrize("reader", ["CPU:0", devices.NAME])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_size_of_no_device(engine, reader, rng):
    raw = {"ops": ops, "xla": _Compiled()}[engine]
    case = layer_cases.layer_case("lstm", SHAPES["usual"], rng, "float32")
    result = _made(raw, case, reader)
    wrong = result._replace(reserve_space=result.reserve_space[:-1])
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        layer_ops.backward(_On(raw, reader), case, wrong)
    assert "reserve_space must be the vector of" in str(raised.value)
