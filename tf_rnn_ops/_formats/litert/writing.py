"""Writes a SavedModel as a file of LiteRT."""

import functools
import pathlib
import re
from typing import Any

import tensorflow as tf

from tf_rnn_ops._formats.exported_layer import ExportedLayer, layer_of
from tf_rnn_ops._formats.litert import flatbuffer, fused
from tf_rnn_ops._formats.passes import recurrent_nodes
from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.portable import per_node

# Types that few ops of LiteRT compute in, as its converter writes them.
_NARROW = {"f16": "float16", "bf16": "bfloat16"}


def write(
    saved_model: str,
    filepath: str,
    *,
    signature: str = recurrent_nodes.DEFAULT,
    loops: bool = True,
    weight_format: str | None = None,
) -> list[ExportedLayer]:
    """Writes a file of LiteRT.

    weight_format='int8' stores large weights in 8 bits, and each call rounds activations to 8 bits.
    """
    decide = functools.partial(_decide, fused.Functions())
    with recurrent_nodes.rewritten(saved_model, signature, loops, decide) as (folder, nodes):
        converter = tf.lite.TFLiteConverter.from_saved_model(str(folder), [signature])
        content = _convert(converter, weight_format)
        if flatbuffer.count_ops(content)["VAR_HANDLE"]:
            # WHY: of a tf.saved_model.save() the converter keeps variables, and the file has no values for them.
            loaded, function = recurrent_nodes.load(folder, signature)
            frozen = tf.lite.TFLiteConverter.from_concrete_functions([function], loaded)
            content = _convert(frozen, weight_format)
    _check(content, nodes)
    pathlib.Path(filepath).write_bytes(flatbuffer.without_clip(content))
    # WHY: the converter folds small constants only. tf_rnn_ops.keras.export gives this function floats.
    return [
        node.with_float_weights("each call converts its int8 weights to floats") for node in nodes
    ]


def _decide(functions: fused.Functions, info: per_node.NodeInfo) -> per_node.Decision:
    if info.dtype == tf.float64:
        raise ValueError(
            f"The layer {layer_of(info.name, info.op)!r} computes in float64, which LiteRT does not."
        )
    if info.steps == 1:
        # WHY: for one step, ordinary ops take 0.7 times as long as the fused op.
        return per_node.Loop("", recurrent_nodes.STEP)
    if reason := fused.reason_for_loop(info):
        return per_node.Loop(reason)
    return functions.replacement(info)


def _convert(converter: Any, weight_format: str | None) -> Any:
    if weight_format is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    try:
        return converter.convert()
    except Exception as error:
        raise ValueError(
            f"LiteRT's converter cannot convert the model: {_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    """One sentence of the many lines of a converter's error."""
    text = str(error)
    lacking = sorted(set(re.findall(r"'tf\.(\w+)' op is neither a custom op nor", text)))
    narrow = next((name for mlir, name in _NARROW.items() if f"x{mlir}>" in text), None)
    if lacking and narrow:
        ops = ", ".join(lacking)
        return f"LiteRT has no op for {ops} of {narrow}: put the weights into a model of float32."
    if lacking:
        return f"LiteRT has no op for {', '.join(lacking)} of these types."
    if "requires element_shape to be static" in text:
        return "LiteRT needs known sizes for a loop of Keras: give the batch and all others in input_signature."
    return one_line(error)


def _check(content: bytes, nodes: list[ExportedLayer]) -> None:
    """Raises ValueError if the converter has not made a fused op of each LSTM."""
    wanted = sum(node.target_op == fused.NAME for node in nodes)
    found = flatbuffer.count_ops(content)[fused.NAME]
    if found < wanted:
        raise ValueError(
            f"LiteRT's converter of TensorFlow {tf.__version__} made {found} fused LSTMs for {wanted} "
            "layers. Another version of TensorFlow may make them all; the format 'onnx' does not use this converter."
        )
