"""Mutated weights and graphs for the readers of other libraries' files.

    python -m robustness.fuzz.fuzz_readers [--seconds N] [--seed N] [--first K]

Case k depends on the seed and on k only. A reader returns a result or raises ValueError with a sentence;
anything else is a finding, and its case is printed.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
import traceback

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402

from tf_rnn_ops import params, portable  # noqa: E402

_MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def _layout(rng, modes=_MODES):
    return params.Layout(
        str(rng.choice(modes)), int(rng.integers(1, 3)), int(rng.integers(1, 4)),
        int(rng.integers(1, 4)), direction=str(rng.choice(["unidirectional", "bidirectional"])),
    )  # fmt: skip


def _network(rng, modes=_MODES):
    layout = _layout(rng, modes)
    return layout, rng.standard_normal(layout.size).astype(np.float32)


# ---- Sources of valid weights, and their readers ----


def _torch(rng):
    layout, values = _network(rng)
    mode = layout.rnn_mode if layout.rnn_mode.startswith("rnn") and rng.random() < 0.9 else None
    return params.to_torch(layout, values), lambda s: params.from_torch(s, rnn_mode=mode)


def _onnx(rng):
    return params.to_onnx(*_network(rng)), params.from_onnx


def _keras(rng):
    layout, values = _network(rng)
    mode = layout.rnn_mode if layout.rnn_mode.startswith("rnn") and rng.random() < 0.9 else None
    return params.to_keras(layout, values), lambda s: params.from_keras(s, rnn_mode=mode)


def _cudnn_layer(rng):
    units, inputs, gates = (int(rng.integers(1, 4)) for _ in range(3))
    gates = 4 if gates > 1 else 3
    layer = [
        np.ones([inputs, gates * units]), np.ones([units, gates * units]),
        np.zeros(2 * gates * units),
    ]  # fmt: skip
    return [layer * int(rng.integers(1, 3))], params.from_cudnn_layer


def _graph(rng):
    """A graph with a node of TensorFlow's op, and its rewriting."""
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default():
        shape = [None if rng.random() < 0.2 else 2 for _ in range(3)]
        x, h = (tf.compat.v1.placeholder(tf.float32, s) for s in (shape, [1, 2, 2]))
        weights = tf.compat.v1.placeholder(tf.float32, [None])
        op = str(rng.choice(["CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"]))
        arguments = {"input": x, "input_h": h, "input_c": h, "params": weights}
        if op == "CudnnRNNV3":
            arguments["sequence_lengths"] = tf.compat.v1.placeholder(tf.int32, [None])
        getattr(tf.raw_ops, op)(**arguments, rnn_mode=str(rng.choice(_MODES)))
    return graph.as_graph_def(), portable.rewrite_graph_def


def _checkpoint(rng):
    """The tensors of a checkpoint of TensorFlow 1, and the saveable that reads them."""
    import tensorflow as tf

    from tf_rnn_ops import contrib

    kind = str(rng.choice(["LSTM", "GRU", "RNNTanh", "RNNRelu"]))
    layers, units, inputs = (int(rng.integers(1, 4)) for _ in range(3))
    direction = str(rng.choice(["unidirectional", "bidirectional"]))
    model = getattr(contrib, f"Cudnn{kind}")(
        layers, units, inputs, input_mode="linear_input", direction=direction
    )
    buffer = rng.standard_normal(int(model.params_size())).astype(np.float32)
    variable = tf.Variable(buffer)
    if rng.random() < 0.5:
        saveable = getattr(contrib, f"Cudnn{kind}Saveable")(
            variable, layers, units, inputs, direction=direction
        )
    else:
        saveable = contrib.RNNParamsSaveable(
            model, model.params_to_canonical, model.canonical_to_params, [variable]
        )
    tensors = zip(saveable.tensor_names, saveable.to_tensors(), strict=True)

    def read(source):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/checkpoint"
            _write_checkpoint(path, source)
            try:
                with _without_log(tf.get_logger()):  # Saver is deprecated, it says each time
                    tf.compat.v1.train.Saver([saveable]).restore(None, path)
            except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError) as error:
                assert np.array_equal(variable.numpy(), buffer), "refused, and the variable changed"
                raise ValueError(error.message) from error
            except ValueError:  # Saver's own, of a file that it does not find
                assert np.array_equal(variable.numpy(), buffer), "refused, and the variable changed"
                raise
        assert variable.shape == buffer.shape

    return {name: tensor.numpy() for name, tensor in tensors}, read


@contextlib.contextmanager
def _without_log(logger):
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def _write_checkpoint(path, values):
    """Writes the values that a checkpoint can hold."""
    import tensorflow as tf

    tensors = {}
    for name, value in values.items():
        try:
            tensors[str(name)] = tf.convert_to_tensor(value)
        except (TypeError, ValueError):
            continue
    tensors["another"] = tf.zeros([])  # a file of no tensors is none
    names = list(tensors)
    tf.raw_ops.SaveV2(
        prefix=path, tensor_names=names, shape_and_slices=[""] * len(names),
        tensors=[tensors[name] for name in names],
    )  # fmt: skip


SOURCES = {
    "torch": _torch, "onnx": _onnx, "keras": _keras, "cudnn_layer": _cudnn_layer, "graph": _graph,
    "checkpoint": _checkpoint,
}  # fmt: skip


# ---- Mutations ----

_OTHER_VALUES = (
    None, 0, -1, 2**40, 1.5, float("nan"), "", "lstm", b"forward", [], [None], {}, (), object(), True,
    np.zeros(0), np.zeros(()), np.zeros((1, 0, 2)), np.array("text"), np.array([None], object),
    np.zeros(3, complex), np.zeros((2, 2), np.int32), np.full((1, 1, 1, 1), np.inf),
)  # fmt: skip


def _mutated_array(rng, array):
    kind = rng.integers(6)
    if kind == 0:
        return array.reshape(-1)
    if kind == 1:
        return array[None]
    if kind == 2 and array.ndim:
        return np.take(array, [], axis=int(rng.integers(array.ndim)))
    if kind == 3 and array.ndim:
        return np.concatenate([array, array], axis=int(rng.integers(array.ndim)))
    if kind == 4 and array.ndim:
        return array[tuple(slice(None, -1) for _ in range(array.ndim))]
    dtype = str(rng.choice(["float64", "float16", "int64", "bool", "object"]))
    try:
        return array.astype(dtype)
    except (TypeError, ValueError, OverflowError):  # of text, None or an infinite object
        return array


def _mutated(rng, value, outermost=False):
    """The value with one place of it changed; the outermost container stays what it is."""
    if hasattr(value, "_replace"):  # a named tuple
        field = str(rng.choice(value._fields))
        return value._replace(**{field: _mutated(rng, getattr(value, field))})
    if isinstance(value, (dict, list, tuple)) and (outermost or rng.random() < 0.85):
        if not value:
            return value
        items = dict(value) if isinstance(value, dict) else dict(enumerate(value))
        key = list(items)[rng.integers(len(items))]
        kind = rng.integers(8)
        if kind == 0:
            del items[key]
        elif kind == 1 and isinstance(value, dict):
            items[str(key) + "x"] = items.pop(key)
        elif kind == 2 and isinstance(value, dict):
            items[str(key).replace("0", str(rng.integers(3)))] = items[key]
        else:
            items[key] = _mutated(rng, items[key])
        if isinstance(value, dict):
            return items
        return type(value)(items.values())
    if isinstance(value, np.ndarray) and rng.random() < 0.8:
        return _mutated_array(rng, value)
    return _OTHER_VALUES[rng.integers(len(_OTHER_VALUES))]


def _mutated_graph(rng, graph_def):
    """Another attribute, another input, another name, or none, of a node."""
    node = graph_def.node[rng.integers(len(graph_def.node))]
    kind = rng.integers(6)
    if kind == 0 and len(node.attr):
        del node.attr[sorted(node.attr)[rng.integers(len(node.attr))]]
    elif kind == 1 and len(node.attr):
        name = sorted(node.attr)[rng.integers(len(node.attr))]
        node.attr[name].s = [b"", b"lstm", b"\xff\xfe", b"skip_input"][rng.integers(4)]
    elif kind == 2 and len(node.input):
        node.input[rng.integers(len(node.input))] = ["", "^a", "nobody", "a:99", ":"][
            rng.integers(5)
        ]
    elif kind == 3 and len(node.input):
        del node.input[rng.integers(len(node.input)) :]
    elif kind == 4:
        node.name = ["", "a", graph_def.node[0].name][rng.integers(3)]
    else:
        node.op = ["", "CudnnRNN", "CudnnRNNBackpropV3", "NoSuchOp", "Placeholder"][rng.integers(5)]
    return graph_def


def numbered(seed, k):
    """(generator, name of the source) of case k."""
    return np.random.default_rng([seed, k]), list(SOURCES)[k % len(SOURCES)]


def complaint(rng, name):
    """The error in the outcome of a case, or None; and whether the reader rejected the case.

    Args:
        rng: Draws the source and what is changed of it: a numpy Generator, or what draws as one.
        name: Of SOURCES.
    """
    source, reader = SOURCES[name](rng)
    for _ in range(rng.integers(1, 4)):
        source = _mutated_graph(rng, source) if name == "graph" else _mutated(rng, source, True)
    try:
        reader(source)
    except ValueError as error:
        return (None if str(error).strip() else f"{name}: an error without a sentence"), True
    except Exception:
        return f"{name}: {source!r:.2000}\n{traceback.format_exc()}", True
    return None, False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds",
        type=float,
        default=60,
        help="begin no case after this many seconds (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="the seed of the cases (default: %(default)s)"
    )
    parser.add_argument(
        "--first", type=int, default=0, help="the number of the first case (default: %(default)s)"
    )
    args = parser.parse_args()
    end, k, refused, findings = time.monotonic() + args.seconds, args.first, 0, 0
    while time.monotonic() < end and findings < 20:
        found, no = complaint(*numbered(args.seed, k))
        refused += no
        if found:
            findings += 1
            print(f"seed {args.seed} case {k}: {found}")
        k += 1
    print(f"readers: {k - args.first} cases, {refused} rejected, {findings} findings")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
