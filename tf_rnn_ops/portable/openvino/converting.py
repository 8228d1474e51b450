"""Extensions of OpenVINO's converter of TensorFlow models for our ops and TensorFlow's CudnnRNN ops."""

import functools
from typing import Any, Iterable, Sequence

import numpy as np
import tensorflow as tf
from openvino import opset14 as ops
from openvino.frontend.tensorflow import ConversionExtension

from tf_rnn_ops.params import Layout
from tf_rnn_ops.params.layout import blocks_of
from tf_rnn_ops.plain import sizes
from tf_rnn_ops.plain.cells import KERAS_GATES
from tf_rnn_ops.portable.openvino import node_types, sequences
from tf_rnn_ops.portable.openvino.sequences import constant
from tf_rnn_ops.raw_ops.table import LAYER_ATTRS, PREFIX, STACK_ATTRS, signature

_LAYER_INPUTS = signature("LayerRNN").inputs
_QUANTIZED = f"{PREFIX}QuantizedLayerRNN"
_CUDNN_INPUTS = ("input", "input_h", "input_c", "params", "sequence_lengths")
# {op: number of its outputs}.
_LAYERS = {f"{PREFIX}LayerRNN": 4, f"{PREFIX}LayerRNNPacked": 3}
_STACKS = {
    "CudnnRNN": 4,
    "CudnnRNNV2": 5,
    "CudnnRNNV3": 5,
    f"{PREFIX}CudnnRNNV3": 5,
    f"{PREFIX}StatelessCudnnRNNV3": 5,
    f"{PREFIX}CudnnRNNV3Packed": 3,
}
_PACKING = tuple(
    f"{PREFIX}Pack{what}" for what in ("LayerRNN", "CudnnRNNParams", "QuantizedLayerRNN")
)
_TYPES = {"f16": tf.float16, "f32": tf.float32, "f64": tf.float64, "bf16": tf.bfloat16}


def extensions() -> list[ConversionExtension]:
    """See tf_rnn_ops.portable.openvino_extensions."""
    converters: dict[str, Any] = {op: functools.partial(_layer, n) for op, n in _LAYERS.items()}
    converters |= {op: functools.partial(_stack, n) for op, n in _STACKS.items()}
    converters[_QUANTIZED] = _quantized_layer
    converters |= dict.fromkeys(_PACKING, _nothing)
    converters["BatchMatMulV3"] = _product
    converters["GatherV2"] = _gather
    return [ConversionExtension(op, convert) for op, convert in converters.items()]


def _nothing(node: Any) -> list[Any]:
    """Packed weights, which only our kernels read."""
    return [constant([], np.uint8).output(0)]


def _refuse_folders(node: Any) -> None:
    """Raises ValueError if OpenVINO reads the graph from a file.

    In functions such a graph names a tensor by the output of its op. For an op that an extension in Python
    converts, OpenVINO ignores the name and uses the first output.
    """
    try:
        from_file = node.has_attribute("_output_shapes")
    except TypeError:  # TensorFlow has the graph in memory
        from_file = False
    if from_file:
        raise ValueError(
            "give openvino.convert_model the model that tf.saved_model.load(folder) returns, not the "
            "folder, in which OpenVINO cannot distinguish the outputs of a layer."
        )


def _inputs(node: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: node.get_input(k) for k, name in zip(range(node.get_input_size()), names)}


def _shapes(inputs: Any) -> dict[str, Any]:
    """{name: list of sizes, with None for an unknown size, or None for an unknown rank}."""
    return {
        name: [d.get_length() if d.is_static else None for d in shape]
        if shape.rank.is_static
        else None
        for name, shape in ((n, i.get_partial_shape()) for n, i in inputs.items())
    }


def _check(network: Any, x: Any) -> None:
    dtype = _TYPES.get(x.get_element_type().get_type_name(), tf.float32)
    if reason := node_types.reason_for_loop(network, dtype):
        raise ValueError(f"{reason}. tf_rnn_ops.keras.export writes it as a loop.")


def _layer(num_outputs: int, node: Any) -> list[Any]:
    """LayerRNN and LayerRNNPacked."""
    _refuse_folders(node)
    inputs = _inputs(node, _LAYER_INPUTS)
    if node.get_input_size() < len(_LAYER_INPUTS):  # the last input is the packed weights
        inputs = {name: inputs[name] for name in _LAYER_INPUTS[:10]}
    return _run_layer(num_outputs, node, inputs)


def _quantized_layer(node: Any) -> list[Any]:
    """QuantizedLayerRNN, with the values of its weights in float."""
    _refuse_folders(node)
    names = signature(_QUANTIZED).inputs
    inputs = _inputs(node, names[:-1])  # without the packed weights
    for scale in [name for name in names if name.endswith("_scale")]:
        matrix = scale.removesuffix("_scale")
        if _shapes({matrix: inputs[matrix]})[matrix] != [0]:
            # WHY two casts: otherwise OpenVINO keeps the product, but its nodes need constants.
            integers = ops.convert(inputs[matrix], "i32")
            values = ops.multiply(ops.convert(integers, "f32"), inputs[scale])
            inputs[matrix] = ops.convert_like(values, inputs["input"]).output(0)
        del inputs[scale]
    return _run_layer(3, node, inputs)


def _product(node: Any) -> list[Any]:
    """A product whose sums have a type of their own, such as the product of int8 matrices in Keras's Dense.

    WHY: OpenVINO's own converter gives wrong results for int8. In float32 the sums of up to 1040 products of
    int8 are exact.
    """
    factors = [node.get_input(k) for k in range(2)]
    result = node.get_attribute("Tout")
    integers = all(one.get_element_type().get_type_name() == "i8" for one in factors)
    factors = [ops.convert(one, "f32" if integers else result).output(0) for one in factors]
    adjoint = [node.get_attribute(name, False) for name in ("adj_x", "adj_y")]
    return [ops.convert(ops.matmul(*factors, *adjoint), result).output(0)]


def _gather(node: Any) -> list[Any]:
    """tf.gather, because of the fault that sequences.gathered avoids."""
    x, indices, axis = (node.get_input(k) for k in range(3))
    return [sequences.gathered(x, indices, axis, node.get_attribute("batch_dims", 0)).output(0)]


def _run_layer(num_outputs: int, node: Any, inputs: Any) -> list[Any]:
    """The outputs of a layer. `inputs`: those of LayerRNN, by name; an absent input may be missing."""
    attrs = {n: node.get_attribute(n, default) for n, default in LAYER_ATTRS.items()}
    layer = sizes.layer_of({**_shapes(inputs), "output_h": None}, attrs)
    x = inputs["input"]
    _check(layer, x)
    time_major = node.get_attribute("time_major", True)
    gates = KERAS_GATES[layer.rnn_mode]
    bias = None if "bias" in layer.absent else inputs["bias"]
    states = [inputs["input_h"], inputs["input_c"]][: 2 if layer.rnn_mode == "lstm" else 1]
    lengths = inputs["sequence_lengths"]
    output, final = sequences.run(
        sequences.Cell(layer.rnn_mode, layer.units, _activation(layer)),
        [
            sequences.Direction(
                w=_columns(inputs["kernel"], gates),
                r=_columns(inputs["recurrent_kernel"], gates),
                **_biases(bias, gates, layer, x),
            )
        ],
        sequences.transposed(x, [1, 0, 2]) if time_major else x,
        [ops.unsqueeze(state, constant(1)) for state in states],
        None if _shapes({"lengths": lengths})["lengths"] == [0] else lengths,
    )
    final = [ops.squeeze(state, constant(1)) for state in final]
    return _results(num_outputs, output, final, time_major, x)


def _activation(network: Any) -> str:
    if network.rnn_mode in ("rnn_tanh", "rnn_relu"):
        return str(network.rnn_mode).removeprefix("rnn_")
    return str(network.attrs()["activation"]) if isinstance(network, sizes.Layer) else "tanh"


def _columns(kernel: Any, gates: Sequence[str]) -> dict[str, Any]:
    """A kernel [I, G*H] as a matrix [H, I] for each gate."""
    parts = ops.split(kernel, constant(1), len(gates)).outputs()
    return {gate: sequences.transposed(part, [1, 0]) for gate, part in zip(gates, parts)}


def _biases(bias: Any, gates: Sequence[str], layer: Any, x: Any) -> dict[str, Any]:
    none = dict.fromkeys(gates, ops.convert_like(constant([0] * layer.units), x))
    if bias is None:
        return {"bw": none, "br": none}

    def split(row: Any) -> dict[str, Any]:
        return dict(zip(gates, ops.split(row, constant(0), len(gates)).outputs()))

    if layer.rnn_mode != "gru":
        return {"bw": split(bias), "br": none}
    rows = ops.split(bias, constant(0), 2).outputs()
    return {name: split(ops.squeeze(row, constant(0))) for name, row in zip(("bw", "br"), rows)}


def _stack(num_outputs: int, node: Any) -> list[Any]:
    """The CudnnRNN ops."""
    _refuse_folders(node)
    inputs = _inputs(node, _CUDNN_INPUTS)
    if node.get_input_size() < len(_CUDNN_INPUTS):
        inputs = {name: inputs[name] for name in _CUDNN_INPUTS[:4]}
    attrs = {name: node.get_attribute(name, default) for name, default in STACK_ATTRS.items()}
    time_major = node.get_attribute("time_major", True)
    shapes = {**_shapes(inputs), "output_h": None, "output_c": None}
    layout = sizes.layout_of(shapes, attrs, time_major)
    x, lengths = inputs["input"], inputs.get("sequence_lengths")
    _check(layout, x)
    if lengths is not None and _are_all_steps(lengths, x, 0 if time_major else 1):
        lengths = None

    def turned(tensor: Any) -> Any:
        return sequences.transposed(tensor, [1, 0, 2]) if time_major else tensor

    states = [inputs["input_h"], inputs["input_c"]][: 2 if layout.rnn_mode == "lstm" else 1]
    states = list(map(turned, states))
    output, final = _run_stack(layout, inputs["params"], turned(x), states, lengths)
    return _results(num_outputs, output, list(map(turned, final)), time_major, x)


def _run_stack(
    layout: Layout, params: Any, x: Any, states: list[Any], lengths: Any
) -> tuple[Any, list[Any]]:
    """The output of the last layer, and the final states of all layers. All tensors have the batch first."""
    directions = 2 if layout.direction == "bidirectional" else 1
    cell = sequences.Cell(layout.rnn_mode, layout.num_units, _activation(layout))
    final = []
    for layer in range(layout.num_layers):
        first = layer * directions
        initial = [sequences.cut(state, first, first + directions, 1) for state in states]
        weights = [_blocks(layout, params, layer, direction) for direction in range(directions)]
        x, last = sequences.run(cell, weights, x, initial, lengths)
        final.append(last)
    return x, [ops.concat(list(state), 1) for state in zip(*final)]


def _are_all_steps(lengths: Any, x: Any, axis: int) -> bool:
    """Whether all lengths are the number of steps of x, as in stacks without a mask."""
    if lengths.get_node().get_type_name() != "Broadcast":
        return False
    value = lengths.get_node().input_value(0).get_node()
    if value.get_type_name() == "Constant":
        steps = x.get_partial_shape()[axis]
        return steps.is_static and bool(np.all(value.get_data() == steps.get_length()))
    if value.get_type_name() != "StridedSlice":
        return False
    shape, begin = (value.input_value(k) for k in range(2))
    if [n.get_node().get_type_name() for n in (shape, begin)] != ["ShapeOf", "Constant"]:
        return False
    of, begin = shape.get_node().input_value(0), begin.get_node().get_data()
    return _identity(of) == _identity(x) and begin.tolist() == [axis]


def _identity(tensor: Any) -> tuple[str, int]:
    return tensor.get_node().get_friendly_name(), tensor.get_index()


def _blocks(layout: Layout, params: Any, layer: int, direction: int) -> sequences.Direction:
    """The weights of a layer and a direction, as slices of the buffer."""

    def take(blocks: Any, source: Any) -> dict[str, Any]:
        return {gate: cut(b) for gate, b in blocks_of(blocks, layer, direction, source).items()}

    def cut(block: Any) -> Any:
        if block.size == 0:  # skip_input: x is added to every gate
            return ops.convert_like(constant(np.eye(block.shape[0])), params)
        piece = sequences.cut(params, block.offset, block.end, 0)
        return ops.reshape(piece, constant(block.shape), special_zero=False)

    return sequences.Direction(
        w=take(layout.weights, "input"),
        r=take(layout.weights, "recurrent"),
        bw=take(layout.biases, "input"),
        br=take(layout.biases, "recurrent"),
    )


def _results(
    num_outputs: int, output: Any, final: list[Any], time_major: bool, x: Any
) -> list[Any]:
    """The outputs of the op. Outputs that only gradients read are scalars."""
    output = sequences.transposed(output, [1, 0, 2]).output(0) if time_major else output
    zero = ops.convert_like(constant(0), x).output(0)
    found = [output, *(state.output(0) for state in final)]
    return found + [zero] * (num_outputs - len(found))
