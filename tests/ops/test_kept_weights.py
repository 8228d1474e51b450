"""PackLayerRNN and PackCudnnRNNParams with keep=True: packed once, and never stale."""

import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from support import subproc
from tf_rnn_ops import raw_ops as ops

INPUT, UNITS = 12, 16


def _variables(seed=0):
    rng = np.random.default_rng(seed)
    shapes = ([INPUT, 4 * UNITS], [UNITS, 4 * UNITS], [4 * UNITS])
    return [tf.Variable(rng.normal(size=shape).astype(np.float32)) for shape in shapes]


def _pack(variables, keep=True):
    kernel, recurrent, bias = (tf.convert_to_tensor(v) for v in variables)
    return ops.PackLayerRNN(kernel=kernel, recurrent_kernel=recurrent, bias=bias, keep=keep)


def _address(tensor):
    return np.frombuffer(memoryview(tensor), np.uint8).ctypes.data


def _check_fresh(variables, packed):
    np.testing.assert_array_equal(packed, _pack(variables, keep=False))


def test_the_same_weights_are_packed_once():
    variables = _variables()
    first = _pack(variables)
    assert _address(_pack(variables)) == _address(first)
    graph = tf.function(lambda: _pack(variables))
    other = tf.function(lambda: _pack(variables))
    for function in (graph, graph, other):
        assert _address(function()) == _address(first)
    assert _address(_pack(variables, keep=False)) != _address(first)
    params = tf.Variable(tf.random.normal([84]))
    packs = [
        ops.PackCudnnRNNParams(params=params, num_layers=1, num_units=3, input_size=2, keep=True)
        for _ in range(2)
    ]
    assert _address(packs[0]) == _address(packs[1])


def test_another_network_of_the_same_weights_is_another_entry():
    kernel, recurrent = tf.Variable(tf.ones([3, 5])), tf.Variable(tf.ones([5, 5]))
    weights = {"kernel": kernel.read_value(), "recurrent_kernel": recurrent.read_value()}
    for mode in ("rnn_tanh", "rnn_relu", "rnn_tanh"):
        packed = ops.PackLayerRNN(**weights, rnn_mode=mode, keep=True)
        fresh = ops.PackLayerRNN(**weights, rnn_mode=mode)
        np.testing.assert_array_equal(packed, fresh)
    biased = ops.PackLayerRNN(**weights, bias=tf.ones([5]), rnn_mode="rnn_tanh", keep=True)
    assert not np.array_equal(biased, packed)


def _slice_assign(v, k):
    v[0].assign(tf.fill(v[0].shape, k))


def _rows(v, k):
    return tf.IndexedSlices(tf.fill(v[:1].shape, k), [0])


def _sparse_gradient(v, k):
    keras.optimizers.SGD(0.5).apply([_rows(v, k)], [v])


def _raw_sparse_step(v, k):
    tf.raw_ops.ResourceSparseApplyAdagradV2(
        var=v.handle,
        accum=tf.Variable(tf.ones(v.shape)).handle,
        lr=0.5,
        epsilon=1e-7,
        grad=_rows(v, k).values,
        indices=[0],
    )


# The k-th change of a variable, k >= 1 a tensor.
UPDATES = {
    "assign": lambda v, k: v.assign(v * 2.0),
    "assign a constant": lambda v, k: v.assign(tf.fill(v.shape, k)),
    "assign_add": lambda v, k: v.assign_add(tf.ones(v.shape)),
    "assign_sub": lambda v, k: v.assign_sub(tf.ones(v.shape)),
    "slice": _slice_assign,
    "scatter_update": lambda v, k: v.scatter_update(_rows(v, k)),
    "scatter_add": lambda v, k: v.scatter_add(_rows(v, k)),
    "scatter_nd_update": lambda v, k: v.scatter_nd_update([[1]], tf.fill(v[:1].shape, k)),
    "raw dense step": lambda v, k: tf.raw_ops.ResourceApplyGradientDescent(
        var=v.handle, alpha=0.5, delta=tf.ones(v.shape)
    ),
}
EAGER_UPDATES = {
    "assign numpy": lambda v, k: v.assign(np.full(v.shape, k, np.float32)),
    "sparse gradient": _sparse_gradient,
    "raw sparse step": _raw_sparse_step,
}


def _check_updates(variables, variable, update, pack):
    for k in range(1, 4):
        before = pack().numpy()
        update(variable, tf.constant(float(k)))
        for _ in range(2):
            packed = pack()
            assert not np.array_equal(packed, before)
            _check_fresh(variables, packed)


@pytest.mark.parametrize("which", range(3), ids=("kernel", "recurrent_kernel", "bias"))
@pytest.mark.parametrize("name", (*UPDATES, *EAGER_UPDATES))
def test_no_update_is_missed(name, which):
    variables = _variables()
    update = {**UPDATES, **EAGER_UPDATES}[name]
    _check_updates(variables, variables[which], update, lambda: _pack(variables))


@pytest.mark.parametrize("which", range(3), ids=("kernel", "recurrent_kernel", "bias"))
@pytest.mark.parametrize("name", UPDATES)
def test_no_update_in_a_graph_is_missed(name, which):
    variables = _variables()

    @tf.function(autograph=False)
    def change(k):
        UPDATES[name](variables[which], k)

    @tf.function(autograph=False)
    def pack():
        return _pack(variables)

    _check_updates(variables, None, lambda _, k: change(k), pack)


@pytest.mark.parametrize("optimizer", ("SGD", "Adam", "RMSprop", "Adagrad", "Lion"))
def test_no_optimizer_is_missed(optimizer):
    variables = [keras.Variable(v) for v in _variables()]
    step = getattr(keras.optimizers, optimizer)(0.1)
    step.build(variables)
    pack = tf.function(lambda: _pack(variables))
    train = tf.function(lambda: step.apply([tf.ones(v.shape) for v in variables], variables))
    for _ in range(4):
        before = pack().numpy()
        train()
        assert not np.array_equal(pack(), before)
        _check_fresh(variables, pack())


def test_compiled_updates_are_not_missed():
    variables = _variables()
    change = tf.function(
        lambda: variables[0].assign_add(tf.ones_like(variables[0])), jit_compile=True
    )
    for _ in range(3):
        packed = _pack(variables)
        change()
        assert not np.array_equal(_pack(variables), packed)
        _check_fresh(variables, _pack(variables))


def test_a_result_stays_as_it_was():
    """A tensor that somebody holds does not change with the variable."""
    variables = _variables()
    packed = _pack(variables)
    copy = packed.numpy().copy()
    variables[0].assign_add(tf.ones_like(variables[0]))
    _pack(variables)
    np.testing.assert_array_equal(packed, copy)


def test_weights_from_numpy():
    """Where TensorFlow shares memory with numpy is a matter of its alignment."""
    for offset in range(0, 64, 16):
        variables = _variables()
        memory = np.zeros(offset // 4 + 12 * 64 + 64, np.float32)
        start = -memory.ctypes.data % 64 // 4 + offset // 4
        array = memory[start : start + 12 * 64].reshape(12, 64)
        variables[0].assign(array)
        first = _pack(variables)
        array[:] = 5
        assert _address(_pack(variables)) == _address(first)
        _check_fresh(variables, _pack(variables))


def test_tensors_that_share_memory():
    weights = tf.ones([UNITS, UNITS])
    for _ in range(2):
        packed = ops.PackLayerRNN(
            kernel=weights, recurrent_kernel=weights, rnn_mode="rnn_tanh", keep=True
        )
        np.testing.assert_array_equal(
            packed, ops.PackLayerRNN(kernel=weights, recurrent_kernel=weights, rnn_mode="rnn_tanh")
        )


def test_threads():
    """Calls and updates at once: every result is that of some state that was."""
    variables = _variables()
    states, errors, stop = {_pack(variables).numpy().tobytes()}, [], threading.Event()
    for k in range(20):
        variables[0].assign(tf.fill(variables[0].shape, float(k)))
        states.add(_pack(variables, keep=False).numpy().tobytes())

    def call():
        while not stop.is_set():
            if _pack(variables).numpy().tobytes() not in states:
                errors.append("a state that never was")
                return

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for k in range(200):
        variables[0].assign(tf.fill(variables[0].shape, float(k % 20)))
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    _check_fresh(variables, _pack(variables))


# TensorFlow's default follows from the CPU. The allocator that comes with oneDNN gives no memory back to the system.
ALLOCATORS = pytest.mark.parametrize("onednn", ["0", "1"])


@ALLOCATORS
def test_what_nobody_can_ask_for_again_is_dropped(onednn):
    out = subproc.run_module("ops.kept_memory", TF_ENABLE_ONEDNN_OPTS=onednn)
    assert float(out) < 250, f"{out} MB more after 40 models of 34 MB"


@ALLOCATORS
def test_a_model_that_is_gone_is_dropped_while_another_is_called(onednn):
    # Freed memory is not kept, so that it does not count.
    variables = {"TF_RNN_OPS_CACHE_MB": "0", "TF_ENABLE_ONEDNN_OPTS": onednn}
    out = subproc.run_module("ops.kept_memory", "idle", **variables)
    left = [float(word) for word in out.split()]
    # With oneDNN, the memory of the first model serves the next ones.
    growth = max(left) - (left[0] if onednn == "1" else 0)
    assert growth < 50, f"{left} MB are left of 1, 2 and 3 models of 160 MB"


def test_layers_that_share_weights_are_kept_side_by_side():
    kernel, recurrent, bias = _variables()
    other_bias = tf.Variable(bias + 1)
    layers = [(kernel, recurrent, bias), (kernel, recurrent, other_bias)]
    packed = [_pack(layer) for layer in layers]
    assert not np.array_equal(*packed)
    for _ in range(100):
        for layer, before in zip(layers, packed, strict=True):
            assert _address(_pack(layer)) == _address(before)
    kernel.assign_add(tf.ones_like(kernel))
    for layer, before in zip(layers, packed, strict=True):
        after = _pack(layer)
        assert not np.array_equal(after, before)
        _check_fresh(layer, after)


def _aligned(*shape):
    """A numpy array that TensorFlow takes without a copy."""
    memory = np.zeros(int(np.prod(shape)) + 16, np.float32)
    start = (-memory.ctypes.data % 64) // 4
    return memory[start : start + int(np.prod(shape))].reshape(shape)


# Outside what keep is for, but nobody may get old weights for it.
def test_a_numpy_array_that_is_written_to_between_two_calls():
    kernel, recurrent = _aligned(INPUT, 4 * UNITS), _aligned(UNITS, 4 * UNITS)
    weights = {"kernel": kernel, "recurrent_kernel": recurrent}
    before = ops.PackLayerRNN(**weights, keep=True)
    kernel[:] = 7
    after = ops.PackLayerRNN(**weights, keep=True)
    np.testing.assert_array_equal(after, ops.PackLayerRNN(**weights))
    assert not np.array_equal(after, before)
