"""Writes a signature of a SavedModel as a file of ONNX."""

import contextlib
import dataclasses
import logging
import pathlib
import shutil
import tempfile
import threading
from typing import Any, Iterator

from tf_rnn_ops._formats import formats
from tf_rnn_ops._formats.exported_layer import ExportedLayer
from tf_rnn_ops._formats.onnx.nodes import errors_of_tf2onnx
from tf_rnn_ops._formats.onnx.registration import register
from tf_rnn_ops._formats.passes import (
    bias_additions,
    recurrent_nodes,
    sign_bits,
    variable_updates,
    xla_marks,
)
from tf_rnn_ops._python import patches
from tf_rnn_ops.portable import per_node

_OPSET = formats.OPSETS[-1]


def write(
    saved_model: str,
    filepath: str,
    *,
    signature: str = "serving_default",
    loops: bool = True,
    weight_format: str | None = None,
    opset: int = _OPSET,
) -> list[ExportedLayer]:
    """Writes a file of ONNX. `opset`: one of formats.OPSETS."""
    register()
    import onnx

    from tf_rnn_ops._formats.onnx import naming, quantizing

    recurrent_nodes.functions_of(str(saved_model), signature)
    with _prepared(str(saved_model)) as folder:
        model, nodes = _converted(folder, signature, opset)
    recurrent_nodes.check_loops(nodes, loops)
    naming.shorten(model.graph)
    _check(onnx, model)
    if weight_format is None:
        onnx.save(model, str(filepath))
        return [node.with_float_weights() for node in nodes]
    quantizing.quantize(model, filepath)
    return [_quantized(node) for node in nodes]


@contextlib.contextmanager
def _prepared(saved_model: str) -> Iterator[str]:
    """The SavedModel, or a copy of it without what tf2onnx does not write well."""
    model = per_node.read(pathlib.Path(saved_model))
    graphs = [graph.graph_def for graph in model.meta_graphs]
    passes = (
        xla_marks.release,
        variable_updates.drop,
        bias_additions.replace,
        sign_bits.replace,
    )
    if not any([change(graph) for graph in graphs for change in passes]):
        yield saved_model
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "model"
        shutil.copytree(saved_model, copy)
        per_node.write(copy, model)
        yield str(copy)


def _converted(saved_model: str, signature: str, opset: int) -> tuple[Any, list[ExportedLayer]]:
    """The ModelProto, and the list of ExportedLayer."""
    from tf2onnx import convert, tf_loader

    from tf_rnn_ops._formats.onnx import preparing

    with errors_of_tf2onnx():
        graph_def, inputs, outputs, function, _loaded, tables, names = tf_loader.from_saved_model(
            saved_model,
            None,
            None,
            tag="serve",
            signatures=[signature],
            return_concrete_func=True,
            return_initialized_tables=True,
            return_tensors_to_rename=True,
        )
    # WHY: TensorFlow writes the names of placeholders in lower case, and tf2onnx takes these names.
    arguments = {spec.name: name for name, spec in function.structured_input_signature[1].items()}
    names |= {tensor: arguments.get(names[tensor], names[tensor]) for tensor in inputs}
    renamed = formats.names_apart((names[t] for t in inputs), (names[t] for t in outputs))
    names |= {tensor: renamed.get(names[tensor], names[tensor]) for tensor in outputs}
    graph_def, nodes = preparing.prepare(graph_def, inputs, outputs)
    with _Errors() as logged, errors_of_tf2onnx():
        model, _ = convert._convert_common(
            graph_def,
            name="model",
            opset=opset,
            input_names=inputs,
            output_names=outputs,
            tensors_to_rename=names,
            initialized_tables=tables,
        )
    if logged.messages:  # tf2onnx logs an error and continues
        raise ValueError(f"tf2onnx cannot convert the model: {logged.messages[0].splitlines()[0]}")
    return model, nodes


class _Errors(logging.Handler):
    """Collects the errors that tf2onnx logs in this thread, and does not print them."""

    _logger = logging.getLogger("tf2onnx")
    _silence = patches.Replacement(lambda: {(_Errors._logger, "propagate"): False})

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.messages.append(record.getMessage())

    def __enter__(self) -> "_Errors":
        self._silence.__enter__()
        self._logger.addHandler(self)
        return self

    def __exit__(self, *exception: object) -> None:
        self._logger.removeHandler(self)
        self._silence.__exit__()


def _check(onnx: Any, model: Any) -> None:
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        lines = str(error).strip().splitlines()
        raise ValueError(f"tf2onnx made a model that is not valid: {lines[0]}") from error


def _quantized(node: ExportedLayer) -> ExportedLayer:
    if "LSTM" not in node.target_op:
        return node.with_float_weights()
    return dataclasses.replace(
        node, target_op=node.target_op.replace("LSTM", "DynamicQuantizeLSTM")
    )
