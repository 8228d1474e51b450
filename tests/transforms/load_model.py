"""Child process: loads a SavedModel and writes what it computes.

Usage: python -m transforms.load_model MODEL_DIR INPUTS.npz OUT.npz
"""

import sys

import numpy as np


def outcomes(model, inputs):
    """Results of the model's functions, and gradients taken through the loaded forward function."""
    import tensorflow as tf

    arrays = {}
    for family in sorted({name.split(".")[0] for name in inputs}):
        prefix = f"{family}."
        values = {
            n.removeprefix(prefix): tf.constant(a)
            for n, a in inputs.items()
            if n.startswith(prefix)
        }
        for kind in ("forward", "gradients"):
            for name, value in getattr(model, f"{family}_{kind}")(values).items():
                arrays[f"{family}.{kind}.{name}"] = value.numpy()
        # Masks have no gradient.
        floats = {
            n: t for n, t in values.items() if t.dtype.is_floating and not n.endswith("_mask")
        }
        with tf.GradientTape() as tape:
            tape.watch(floats)
            result = getattr(model, f"{family}_forward")({**values, **floats})
            loss = sum(tf.reduce_sum(t) for t in result.values())
        for name, value in tape.gradient(loss, floats).items():
            arrays[f"{family}.outer.{name}"] = value.numpy()
    return arrays


def main():
    import tensorflow as tf

    import tf_rnn_ops  # noqa: F401  (registers the ops)

    model_dir, inputs_path, out_path = sys.argv[1:4]
    with np.load(inputs_path) as data:
        inputs = {name: data[name] for name in data.files}
    np.savez(out_path, **outcomes(tf.saved_model.load(model_dir), inputs))


if __name__ == "__main__":
    main()
