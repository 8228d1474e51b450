"""Child process: loads what gpu_model_writer wrote, on the CPU.

Usage: python -m ops.stock.gpu_model_reader MODEL_DIR CASE.npz OUT.npz WITH, where WITH is stock (the
stock ops enabled), `ours` (tf_rnn_ops imported) or nothing.

Writes the outputs, the gradients for torch's loss, and the losses of a few training steps, or what
TensorFlow raises.
"""

import sys

import numpy as np


def _loss(result, case):
    import tensorflow as tf

    loss = tf.reduce_sum(result["output"] * case["dy"]) + tf.reduce_sum(
        result["output_h"] * case["dh"]
    )
    if result["output_c"].shape.rank:
        loss += tf.reduce_sum(result["output_c"] * case["dc"])
    return loss


def outcomes(model, case):
    import tensorflow as tf

    inputs = {name: tf.constant(case[name]) for name in ("x", "lengths", "h0", "c0")}
    served = model.signatures["serving_default"](**inputs)
    arrays = {name: value.numpy() for name, value in served.items()}
    sources = {"input": inputs["x"], "input_h": inputs["h0"], "params": model.params}
    with tf.GradientTape() as tape:
        tape.watch(list(sources.values()))
        loss = _loss(model.run(**inputs), case)
    for name, gradient in tape.gradient(loss, sources).items():
        arrays[f"{name}_backprop"] = gradient.numpy()
    target = 0.1 * np.sign(arrays["output"])
    losses = []
    optimiser = tf.keras.optimizers.SGD(0.5)
    for _ in range(6):
        with tf.GradientTape() as tape:
            output = model.run(**inputs)["output"]
            error = tf.reduce_mean(tf.square(output - target))
        optimiser.apply_gradients([(tape.gradient(error, model.params), model.params)])
        losses.append(float(error))
    arrays["losses"] = np.array(losses)
    return arrays


def main():
    folder, case_path, out_path, with_what = sys.argv[1:5]
    import tensorflow as tf

    if with_what != "nothing":
        import tf_rnn_ops

        if with_what == "stock":
            tf_rnn_ops.enable_stock_ops()
    with np.load(case_path) as data:
        case = {name: data[name] for name in data.files}
    try:
        np.savez(out_path, **outcomes(tf.saved_model.load(folder), case))
    except tf.errors.OpError as error:
        np.savez(out_path, raised=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
