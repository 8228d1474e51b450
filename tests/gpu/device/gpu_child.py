"""Child process of the tests of this folder: python -m gpu.device.gpu_child WHAT. Prints one line of JSON.

The choices below have to be made before TensorFlow initialises the GPU, or concern what a process
has loaded, so each runs in a process of its own.
"""

import concurrent.futures
import dataclasses
import json
import sys

import numpy as np
import tensorflow as tf

import tf_rnn_ops
from support import cases, devices, layer_cases, layer_ops, tf_ops
from support.reference.spec import RnnSpec

ops = tf_rnn_ops.raw_ops


def _case(seed, units=40, steps=12):
    spec = RnnSpec("lstm", 2, units, 24, "bidirectional")
    return cases.rnn_case(spec, steps, 9, np.random.default_rng(seed), "float32")


def _tensors(case):
    with tf.device("/CPU:0"):
        return tf_ops.rnn_tensors(case)


def _forward(case, tensors):
    return ops.CudnnRNNV3(**tensors.inputs(), **case.spec.attrs())


def _backward(case, result, tensors):
    return tf_ops.rnn_backward_of(ops, case, result, tensors)


def _step(case, tensors, device):
    """Forward and backward on a device; the bytes of every result."""
    with tf.device(device):
        result = _forward(case, tensors)
        grads = _backward(case, result, tensors)
    return b"".join(value.numpy().tobytes() for value in (result.output, *grads))


def _traced(case, device):
    """_step as a function; its tensors are arguments.

    WHY: eagerly, TensorFlow 2.21 mixes up the host inputs (sequence_lengths) of calls that several
    threads make on one GPU, those of its own ops too: tf.raw_ops.Empty then returns other shapes.
    """

    @tf.function
    def run(**values):
        tensors = tf_ops.RnnTensors(**values)
        with tf.device(device):
            result = _forward(case, tensors)
            grads = _backward(case, result, tensors)
        return (result.output, *grads)

    return run


def streams():
    """Two logical devices of one GPU have a stream each: their calls overlap, results must not."""
    (gpu,) = tf.config.list_physical_devices("GPU")[:1]
    limits = [tf.config.LogicalDeviceConfiguration(memory_limit=400) for _ in range(2)]
    tf.config.set_logical_device_configuration(gpu, limits)
    devices = [device.name for device in tf.config.list_logical_devices("GPU")]
    work = [(case, _tensors(case)) for case in (_case(seed) for seed in range(4))]
    steps = [_traced(work[0][0], device) for device in devices]

    def run(number, device):
        _, tensors = work[number]
        results = steps[device](**vars(tensors))
        return b"".join(value.numpy().tobytes() for value in results)

    want = [run(number, 0) for number in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda k: run(k % 4, k // 4 % 2), range(64)))
    equal = sum(result == want[k % 4] for k, result in enumerate(got))
    return {"devices": len(devices), "calls": len(got), "equal": equal}


def no_memory():
    """A call that is too large fails; the process and the next call do not."""
    (gpu,) = tf.config.list_physical_devices("GPU")[:1]
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=64)
    tf.config.set_logical_device_configuration(gpu, [limit])
    small = _case(0)
    tensors = _tensors(small)
    _step(small, tensors, "/GPU:0")
    large = _case(1, units=256, steps=2000)
    try:
        _step(large, _tensors(large), "/GPU:0")
        error = None
    except tf.errors.OpError as raised:
        error = [type(raised).__name__, raised.message]
    return {"error": error, "bytes_after": len(_step(small, tensors, "/GPU:0"))}


def layers_no_memory():
    """A call of LayerRNN that is too large fails in either pass; the next call has the bytes of the first."""
    (gpu,) = tf.config.list_physical_devices("GPU")[:1]
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=256)
    tf.config.set_logical_device_configuration(gpu, [limit])
    rng = np.random.default_rng(0)

    def step(case, device):
        with tf.device("/CPU:0"):
            tensors, upstream = layer_ops.tensors(case), layer_ops.upstream(case)
        with tf.device(device):
            result = ops.LayerRNN(**tensors, **case.attrs())
            names = ("output_backprop", "output_h_backprop", "output_c_backprop")
            grads = ops.LayerRNNBackprop(
                **tensors, **result._asdict(), **dict(zip(names, upstream)), **case.attrs()
            )
        return b"".join(value.numpy().tobytes() for value in (*result[:3], *grads))

    small = layer_cases.layer_case("lstm", (5, 3, 4, 6), rng, "float32")
    first = step(small, "/GPU:0")
    errors = []
    # The reserve space does not fit, or the gradients of the gates next to it do not fit.
    for steps in (3000, 1000):
        none = {"input_mask": False, "recurrent_mask": False, "lengths": None}
        large = layer_cases.layer_case("lstm", (steps, 640, 1, 8), rng, "float32", **none)
        try:
            step(large, "/GPU:0")
            errors.append(None)
        except tf.errors.OpError as raised:
            errors.append([type(raised).__name__, raised.message])
    return {"errors": errors, "same": step(small, "/GPU:0") == first}


def no_cudnn():
    """The errors of the ops without cuDNN (TF_RNN_OPS_CUDNN names no file). The CPU must still work."""
    case = _case(0)
    tensors = _tensors(case)
    try:
        _step(case, tensors, "/GPU:0")
        error = None
    except tf.errors.OpError as raised:
        error = [type(raised).__name__, raised.message]
    return {"error": error, "bytes_on_the_cpu": len(_step(case, tensors, "/CPU:0"))}


def growth():
    """Memory in use after many calls of changing shapes, and after the same shapes once more."""
    (gpu,) = tf.config.list_physical_devices("GPU")[:1]
    tf.config.experimental.set_memory_growth(gpu, True)

    def many(rng):
        for _ in range(150):
            mode = str(rng.choice(["lstm", "gru", "rnn_tanh"]))
            layers, units, steps, batch = (int(n) for n in rng.integers(1, [4, 48, 24, 12]))
            spec = RnnSpec(mode, layers, units, int(rng.integers(1, 32)), "bidirectional")
            case = cases.rnn_case(spec, steps, batch, rng, str(rng.choice(["float32", "float16"])))
            _step(case, _tensors(case), "/GPU:0")

    used = []
    for seed in (1, 2, 2, 2):
        many(np.random.default_rng(seed))
        used.append(tf.config.experimental.get_memory_info("GPU:0")["current"])
    return {"used": used}


def reserve():
    """The most memory of a step whose reserve space only its gradient reads, or its caller too."""
    (gpu,) = tf.config.list_physical_devices("GPU")[:1]
    tf.config.experimental.set_memory_growth(gpu, True)
    case = _case(0, units=64, steps=200)
    tensors = _tensors(case)

    def step(kept):
        @tf.function
        def run():
            with tf.device("/GPU:0"):
                result = _forward(case, tensors)
                grads = _backward(case, result, tensors)
            return (*grads, result.reserve_space) if kept else tuple(grads)

        run()
        tf.config.experimental.reset_memory_stats("GPU:0")
        results = run()
        peak = tf.config.experimental.get_memory_info("GPU:0")["peak"]
        return peak, results

    used, results = step(kept=False)
    kept, results_kept = step(kept=True)
    equal = [a.numpy().tobytes() == b.numpy().tobytes() for a, b in zip(results, results_kept)]
    bytes_reserved = int(np.prod(results_kept[-1].shape)) * results_kept[-1].dtype.size
    return {"used": used, "kept": kept, "reserve": bytes_reserved, "equal": equal}


def _passes(compiled):
    """Forward and backward on the GPU, by XLA or op by op."""

    def on_the_gpu(function):
        def run(*arguments):
            with tf.device("/GPU:0"):
                run_ = tf.function(lambda: function(*arguments), jit_compile=True)
                return run_() if compiled else function(*arguments)

        return run

    return on_the_gpu(_forward), on_the_gpu(_backward)


def in_and_out_of_xla(forward_compiled):
    """The first forward pass of the process in one library and its gradient in the other.

    The sequences are such that cuDNN has several algorithms, or have no steps.
    """
    equal = []
    for lengths in ([8, 8, 8, 8], [0, 0, 0, 0]):
        spec = RnnSpec("lstm", 1, 64, 64)
        case = cases.rnn_case(spec, 8, 4, np.random.default_rng(0), "float32")
        case = dataclasses.replace(case, lengths=np.array(lengths, np.int32))
        tensors = _tensors(case)
        forward, _ = _passes(forward_compiled)
        _, backward = _passes(not forward_compiled)
        found = backward(case, forward(case, tensors), tensors)
        same_forward, same_backward = _passes(compiled=False)
        want = same_backward(case, same_forward(case, tensors), tensors)
        equal += [np.array_equal(a, b) for a, b in zip(found, want, strict=True)]
    return {"equal": equal}


def one_layer():
    """A call of LayerRNN and its gradient, whose launches the mock driver logs."""
    rng = np.random.default_rng(0)
    case = layer_cases.layer_case("lstm", (5, 3, 4, 6), rng, "float32")
    with tf.device("/CPU:0"):
        return {"results": sorted(layer_ops.run(devices.ops, case))}


def main():
    what = {
        "one_layer": one_layer,
        "xla_then_op": lambda: in_and_out_of_xla(forward_compiled=True),
        "op_then_xla": lambda: in_and_out_of_xla(forward_compiled=False),
        "streams": streams,
        "no_memory": no_memory,
        "layers_no_memory": layers_no_memory,
        "no_cudnn": no_cudnn,
        "growth": growth,
        "reserve": reserve,
    }
    print("\n" + json.dumps(what[sys.argv[1]]()))


if __name__ == "__main__":
    main()
