"""Values of TensorProtos as numpy arrays, and the functions that use the package onnx."""

import numpy as np

# {TensorProto.DataType: (numpy type, the field of the values if there is no raw_data)}.
_TYPES = {
    1: ("<f4", "float_data"),
    2: ("<u1", "int32_data"),
    3: ("<i1", "int32_data"),
    4: ("<u2", "int32_data"),
    5: ("<i2", "int32_data"),
    6: ("<i4", "int32_data"),
    7: ("<i8", "int64_data"),
    9: ("<?", "int32_data"),
    11: ("<f8", "double_data"),
    12: ("<u4", "uint64_data"),
    13: ("<u8", "uint64_data"),
}
_FLOAT16, _BFLOAT16 = 10, 16
_EXTERNAL = 1  # TensorProto.DataLocation


class OnnxIsMissing(ValueError):
    """A model needs the package onnx, which is not installed."""


def array_of(tensor):
    """A TensorProto as an array; bfloat16 becomes float32, exactly.

    Raises:
        ValueError: The values are in another file, or have a type that numpy lacks.
    """
    if tensor.data_location == _EXTERNAL:
        raise ValueError(
            f"The values of {tensor.name!r} are in another file: load the model with onnx.load, which reads it."
        )
    kind, shape = tensor.data_type, tuple(tensor.dims)
    if kind in (_FLOAT16, _BFLOAT16):
        bits = (
            np.frombuffer(tensor.raw_data, "<u2")
            if tensor.raw_data
            else np.array(tensor.int32_data, np.uint16)
        ).reshape(shape)
        if kind == _FLOAT16:
            return bits.astype(np.uint16).view(np.float16)
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if kind not in _TYPES:
        raise ValueError(
            f"{tensor.name!r} must have a type that numpy has, but its data_type is {kind}."
        )
    code, field = _TYPES[kind]
    if tensor.raw_data:
        array = np.frombuffer(tensor.raw_data, code)
    else:
        array = np.array(getattr(tensor, field), code)
    return array.astype(array.dtype.newbyteorder("=")).reshape(shape)


def numpy_type(data_type):
    """The numpy type of a TensorProto.DataType, or None; bfloat16 counts as float32."""
    if data_type in (_FLOAT16, _BFLOAT16):
        return np.dtype(np.float16 if data_type == _FLOAT16 else np.float32)
    return np.dtype(_TYPES[data_type][0]) if data_type in _TYPES else None


def evaluate(node, opset, arrays):
    """The outputs of one node, as onnx's reference evaluator computes them.

    Args:
        node: A NodeProto without inner graphs.
        opset: Version of the operators of ONNX.
        arrays: {name of an input: array}.

    Raises:
        OnnxIsMissing: The package onnx is not installed.
        Exception: The evaluator cannot run the node on these arrays.
    """
    try:
        import onnx
        from onnx.reference import ReferenceEvaluator
    except ImportError:
        raise OnnxIsMissing(
            f"Install the package onnx, which this model needs: {node.output[0]!r} is the output of a "
            f"node {node.op_type}, which onnx evaluates."
        ) from None
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
    try:
        import onnx
    except ImportError:
        return {}
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
