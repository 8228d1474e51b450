"""Values, types and shapes of tensors of ONNX, with the package onnx, which made the model."""

import numpy as np

_BFLOAT16 = 16  # TensorProto.DataType
_EXTERNAL = 1  # TensorProto.DataLocation


def array_of(tensor):
    """A TensorProto as an array; bfloat16 becomes float32, exactly.

    Raises:
        ValueError: The values are in another file.
    """
    from onnx import numpy_helper

    if tensor.data_location == _EXTERNAL:
        raise ValueError(
            f"The values of {tensor.name!r} are in another file: load the model with onnx.load, which reads it."
        )
    array = numpy_helper.to_array(tensor)
    return array.astype(np.float32) if tensor.data_type == _BFLOAT16 else array


def numpy_type(data_type):
    """The numpy type of a TensorProto.DataType, or None; bfloat16 counts as float32."""
    from onnx import helper

    if data_type == _BFLOAT16:
        return np.dtype(np.float32)
    try:
        return helper.tensor_dtype_to_np_dtype(data_type)
    except KeyError:
        return None


def evaluate(node, opset, arrays):
    """The outputs of one node, as onnx's reference evaluator computes them.

    Args:
        node: A NodeProto without inner graphs.
        opset: Version of the operators of ONNX.
        arrays: {name of an input: array}.

    Raises:
        Exception: The evaluator cannot run the node on these arrays.
    """
    import onnx
    from onnx.reference import ReferenceEvaluator

    inputs = [
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in arrays.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", inputs, outputs)
    try:
        return ReferenceEvaluator(graph, opsets={"": opset}).run(None, arrays)
    except RuntimeError:  # the evaluator lacks this version of the node
        return _run_in_onnx_runtime(onnx, graph, opset, arrays)


def _run_in_onnx_runtime(onnx, graph, opset, arrays):
    import onnxruntime

    opsets = [onnx.helper.make_opsetid("", opset)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, arrays)


def inferred_shapes(model):
    """{name of a tensor: its dimensions, each an int, a name or None}, as onnx infers them."""
    import onnx

    light = onnx.ModelProto()
    light.CopyFrom(_without_weights(model))
    try:
        graph = onnx.shape_inference.infer_shapes(light, data_prop=True).graph
    except Exception:  # onnx found an error in the model
        graph = model.graph
    return {
        value.name: dimensions(value)
        for value in (*graph.value_info, *graph.output)
        if dimensions(value) is not None
    }


def _without_weights(model):
    """The model with its larger weights replaced by inputs."""
    import onnx

    light = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    source, graph = model.graph, light.graph
    graph.name = source.name or "graph"
    graph.node.extend(source.node)
    graph.input.extend(source.input)
    graph.output.extend(source.output)
    graph.value_info.extend(source.value_info)
    known = {value.name for value in source.input}
    for tensor in source.initializer:
        if np.prod(tensor.dims) <= 64:
            graph.initializer.append(tensor)
        elif tensor.name not in known:
            value = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            graph.input.append(value)
    return light


def dimensions(value):
    """The dimensions of a ValueInfoProto, each an int, a name or None; None for an unknown rank."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.dim_value > 0 else dim.dim_param or None for dim in tensor.shape.dim
    ]
