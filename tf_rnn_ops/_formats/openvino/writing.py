"""Writes a SavedModel as OpenVINO's two files."""

import re
from typing import Any

import openvino
import tensorflow as tf
from openvino import opset14 as ops

from tf_rnn_ops._formats import formats
from tf_rnn_ops._formats.exported_layer import ExportedLayer
from tf_rnn_ops._formats.passes import recurrent_nodes
from tf_rnn_ops.portable import per_node
from tf_rnn_ops.portable.openvino import node_types, telemetry
from tf_rnn_ops.portable.openvino.converting import extensions
from tf_rnn_ops.portable.openvino.sequences import constant


def write(
    saved_model: str,
    filepath: str,
    *,
    signature: str = recurrent_nodes.DEFAULT,
    loops: bool = True,
    weight_format: str | None = None,
) -> list[ExportedLayer]:
    """Writes the file `filepath`, whose name must end in .xml, and the weights in a file next to it."""
    del weight_format  # None
    with recurrent_nodes.rewritten(saved_model, signature, loops, _decide) as (folder, nodes):
        # WHY not the loaded model: it has all signatures, of which OpenVINO would choose one.
        _loaded, function = recurrent_nodes.load(folder, signature)
        function = _with_names_apart(function)
        try:
            with telemetry.off():
                model = openvino.convert_model(function, extension=extensions())
            model = _with_named_results(model, function)
            _check_types(model)
        except Exception as error:
            reason = " ".join(str(error).split())
            if "bfloat16" in str(function.graph.as_graph_def()).lower():
                reason = "it has no bfloat16 for some ops: put the weights into a model of float32."
            raise ValueError(f"OpenVINO cannot convert the model: {reason}") from error
    openvino.save_model(model, str(filepath), compress_to_fp16=False)
    return nodes


def _with_names_apart(function: Any) -> Any:
    """The function with other names for outputs that have the name of an input."""
    specs = function.structured_input_signature[1]
    renamed = formats.names_apart(specs, function.structured_outputs)
    if not renamed:
        return function

    def call(**inputs: Any) -> dict[str, Any]:
        results = function(**inputs).items()
        return {renamed.get(name, name): tf.identity(result) for name, result in results}

    return tf.function(call, autograph=False).get_concrete_function(**specs)


def _with_named_results(model: Any, function: Any) -> Any:
    """The model with their own names for outputs that are inputs; OpenVINO keeps those of the inputs only."""
    wanted = sorted(function.structured_outputs)
    named = {name for port in model.outputs for name in port.get_names()}
    if named >= set(wanted):
        return model
    missing = [name for name in wanted if name not in named]
    results = []
    for result in model.get_results():
        source = result.input_value(0)
        if not source.get_tensor().names & set(wanted):
            # WHY nodes: the input and the output would have one tensor, with the names of both.
            source = ops.squeeze(ops.unsqueeze(source, constant(0)), constant(0)).output(0)
            name = wanted[_number(result)] if len(missing) > 1 else missing[0]
            source.get_tensor().set_names({name})
        results.append(ops.result(source))
    return openvino.Model(results, model.get_parameters(), "model")


def _check_types(model: Any) -> None:
    """Raises ValueError if the converter did not know a type, since no device runs such a model."""
    for op in model.get_ops():
        for port in op.outputs():
            if port.get_element_type().is_dynamic():
                raise ValueError(f"{op.get_friendly_name()} has no type.")


def _number(result: Any) -> int:
    """The number of an output of the function, from the name that TensorFlow gives its node."""
    match = re.fullmatch(r"Identity(?:_(\d+))?(?::0)?", result.get_friendly_name())
    return int(match and match[1] or 0)


def _decide(info: per_node.NodeInfo) -> per_node.Decision:
    network: Any = info.network
    if reason := node_types.reason_for_loop(network, info.dtype):
        return per_node.Loop(reason)
    return per_node.Keep(node_types.SEQUENCES[network.rnn_mode])
