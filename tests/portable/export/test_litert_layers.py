"""Models in LiteRT: the fused LSTM where it fits, builtin ops elsewhere, and the results of the layers."""

import collections

import export_formats
import export_networks as networks
import keras
import pytest

import tf_rnn_ops.keras as rnn
from tf_rnn_ops._formats import formats

FUSED, LOOP = "UNIDIRECTIONAL_SEQUENCE_LSTM", "loop"


@pytest.fixture(scope="module")
def litert():
    return formats.writer("litert")


def is_fused(layer, batch):
    """Whether LiteRT has a node for a layer of networks.MODELS, by the layer's name."""
    name = layer.removeprefix("stack_").split("_masked")[0].split("_both")[0]
    return batch is not None and name in ("lstm", "lstm_no_bias", "skip")


def export(model, tmp_path, signature, **options):
    path = str(tmp_path / "m.tflite")
    options = {"print_fn": None, "verify": False} | options
    return path, rnn.export(model, path, "litert", input_signature=signature, **options)


@pytest.mark.each_value
@pytest.mark.parametrize("sizes", networks.OPEN.values(), ids=networks.OPEN.keys())
@pytest.mark.parametrize("name", networks.MODELS)
def test_every_layer(name, sizes, tmp_path, litert):
    model, signature, x = networks.make(name, sizes)
    path, report = export(model, tmp_path, signature)
    call = litert.load(path)
    for _ in range(2):  # the second call does not begin where the first one ended
        export_formats.assert_equal(call({"x": x}), model, x)
    for node in report.layers:
        layer = networks.layer_of(node)
        if layer != "pair":  # of an LSTM and a GRU
            assert node.target_op == (FUSED if is_fused(layer, sizes[0]) else LOOP), node
        assert bool(node.reason) == (node.target_op == LOOP)
    ops = ops_of(path)
    assert not [op for op in ops if op.startswith("Flex")]
    assert ops[FUSED] == (0 if sizes[0] is None else count_fused(model))


def count_fused(model):
    """How many fused ops a model of a known batch has: one for each layer and direction."""
    found = sum(layer.name == "pair" for layer in model.layers)  # of an LSTM and a GRU
    for layer in model.layers:
        if not is_fused(layer.name, networks.BATCH):
            continue
        directions = 2 if isinstance(layer, keras.layers.Bidirectional) else 1
        directions *= 2 if getattr(layer, "direction", "") == "bidirectional" else 1
        found += getattr(layer, "num_layers", 1) * directions
    return found


def ops_of(path):
    from tf_rnn_ops._formats.litert import flatbuffer

    with open(path, "rb") as file:
        return collections.Counter(flatbuffer.count_ops(file.read()))
