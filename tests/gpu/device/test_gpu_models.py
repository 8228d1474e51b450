"""The ops inside TensorFlow on a GPU: placement, functions of unknown sizes, SavedModels, Keras."""

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from support import cases, devices, subproc, tf_ops
from support.bounds import assert_close
from support.reference.spec import RnnSpec

pytestmark = pytest.mark.usefixtures("everything_else_on_the_cpu")

SPEC = RnnSpec("gru", 2, 9, 5, "bidirectional")


def _forward_with_unknown_sizes(tensors):
    float32 = tf.float32
    signature = [tf.TensorSpec(None, float32)] * 4 + [tf.TensorSpec([None], tf.int32)]

    @tf.function(input_signature=signature)
    def run(x, h, c, params, lengths):
        with devices.scope():
            return tf_rnn_ops.raw_ops.CudnnRNNV3(
                input=x,
                input_h=h,
                input_c=c,
                params=params,
                sequence_lengths=lengths,
                is_training=False,
                **SPEC.attrs(),
            )

    return run, tuple(tensors.inputs().values())


def test_ops_go_to_the_gpu_unasked(rng):
    case = cases.rnn_case(SPEC, 5, 4, rng, "float32")
    tensors = tf_ops.rnn_tensors(case)
    with tf.device(None):
        result = tf_rnn_ops.raw_ops.CudnnRNNV3(**tensors.inputs(), **SPEC.attrs())
    assert result.output.device.endswith("GPU:0")
    assert result.host_reserved.device.endswith(("CPU:0", "GPU:0"))


def test_function_of_unknown_sizes(rng):
    case = cases.rnn_case(SPEC, 5, 4, rng, "float32")
    run, arguments = _forward_with_unknown_sizes(tf_ops.rnn_tensors(case))
    got = tf_ops.rnn_arrays(case, run(*arguments))
    assert_close(got, tf_ops.rnn_reference_arrays(case, case.reference()[0]), "float32")


@pytest.mark.thorough
def test_saved_model_from_the_gpu_runs_without_one(tmp_path, rng):
    case = cases.rnn_case(SPEC, 5, 4, rng, "float32")
    run, arguments = _forward_with_unknown_sizes(tf_ops.rnn_tensors(case))
    module = tf.Module()
    module.run = run
    tf.saved_model.save(module, str(tmp_path / "model"))
    names = ("input", "input_h", "input_c", "params", "sequence_lengths")
    np.savez(tmp_path / "in.npz", **dict(zip(names, (a.numpy() for a in arguments), strict=True)))
    subproc.run_module(
        "gpu.device.gpu_reader",
        tmp_path / "model",
        tmp_path / "in.npz",
        tmp_path / "out.npz",
        CUDA_VISIBLE_DEVICES="-1",
    )
    with np.load(tmp_path / "out.npz") as found:
        got = {"output": found["output"], "output_h": found["output_h"]}
    assert_close(got, tf_ops.rnn_reference_arrays(case, case.reference()[0]), "float32")


@pytest.mark.real_gpu
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_registered_gradient(dtype, rng):
    case = cases.rnn_case(SPEC, 6, 5, rng, dtype)
    tensors = tf_ops.rnn_tensors(case)
    with devices.scope(), tf.GradientTape(persistent=True) as tape:
        tape.watch(tensors.params)
        result = tf_rnn_ops.raw_ops.CudnnRNNV3(**tensors.inputs(), **SPEC.attrs())
        loss = tf.reduce_sum(tf.cast(result.output, tf.float32))
    with devices.scope():
        first, second = (tape.gradient(loss, tensors.params) for _ in range(2))
    np.testing.assert_array_equal(devices.array(first), devices.array(second))
    with tf.GradientTape() as tape:
        tape.watch(tensors.params)
        result = tf_rnn_ops.raw_ops.CudnnRNNV3(**tensors.inputs(), **SPEC.attrs())
        loss = tf.reduce_sum(tf.cast(result.output, tf.float32))
    on_cpu = devices.array(tape.gradient(loss, tensors.params))
    tolerance = {"float32": 6e-5, "float64": 1e-12}.get(dtype, 0.05) * np.abs(on_cpu).max()
    np.testing.assert_allclose(devices.array(first), on_cpu, rtol=0, atol=tolerance)


@pytest.mark.real_gpu
def test_keras_model_trains_on_the_gpu(rng):
    import keras

    import tf_rnn_ops.keras

    x = rng.normal(size=(64, 20, 3)).astype("float32")
    y = x.cumsum(axis=1).mean(axis=(1, 2))
    with tf.device(None), devices.scope():
        model = keras.Sequential(
            [
                tf_rnn_ops.keras.LSTM(16, return_sequences=True),
                tf_rnn_ops.keras.CudnnGRU(16, num_layers=2, direction="bidirectional"),
                keras.layers.Dense(1),
            ]
        )
        model.compile(keras.optimizers.Adam(0.01), "mse")
        losses = model.fit(x, y, epochs=15, verbose=0).history["loss"]
        on_gpu = model(x).numpy()
    assert losses[-1] < 0.5 * losses[0]
    np.testing.assert_allclose(on_gpu, model(x).numpy(), atol=1e-4)
