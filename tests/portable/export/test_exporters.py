"""SavedModels without this package's ops in the converters of LiteRT, tf2onnx and OpenVINO: the layers' results."""

import functools
import logging

import export_networks as networks
import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import kernels

import tf_rnn_ops.keras as rnn
from portable import graphs
from tf_rnn_ops import portable
from tf_rnn_ops._formats.exported_layer import layer_of


def _litert(folder, x):
    """LiteRT with only its own ops."""
    from ai_edge_litert import interpreter

    model = tf.lite.TFLiteConverter.from_saved_model(str(folder)).convert()
    run = interpreter.Interpreter(model_content=model).get_signature_runner("serving_default")
    return run(x=x)


def _tf2onnx(folder, x):
    """ONNX Runtime on the file of tf2onnx, which logs what it cannot convert and goes on."""
    import onnxruntime
    from tf2onnx import convert, tf_loader

    errors = _Errors(logging.ERROR)
    logging.getLogger("tf2onnx").addHandler(errors)
    try:
        graph_def, inputs, outputs, _, names = tf_loader.from_saved_model(
            str(folder), None, None, tag="serve", signatures=["serving_default"],
            return_initialized_tables=True, return_tensors_to_rename=True,
        )  # fmt: skip
        model, _ = convert._convert_common(
            graph_def, name="model", opset=18, input_names=inputs, output_names=outputs,
            tensors_to_rename=names,
        )  # fmt: skip
    finally:
        logging.getLogger("tf2onnx").removeHandler(errors)
    assert not errors.messages
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: x}), strict=True))


class _Errors(logging.Handler):
    def __init__(self, level):
        super().__init__(level)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


def _openvino(folder, x):
    """OpenVINO, which multiplies in fewer bits than float32 has unless told not to."""
    from tf_rnn_ops.portable.openvino import telemetry

    with telemetry.off():
        import openvino

        converted = openvino.convert_model(str(folder))
    model = openvino.Core().compile_model(converted, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = model(x)
    return {name: results[port] for port in model.outputs for name in port.get_names()}


def _masked(network, x, **options):
    """Each layer with any mask; Keras's own loops are not rewritten."""
    x = keras.layers.Masking()(x)
    for row, layers in networks.ROWS.items():
        if not row.startswith("other activations"):
            for name, make in layers.items():
                network.add([row], make(name=name, **options), x)


BACKWARDS = {"go_backwards": True, **networks.SEQUENCES}
NETWORKS = {
    "backwards_masked": (functools.partial(_masked, **BACKWARDS), networks.any_mask),
    "last_masked": (_masked, networks.any_mask),
    "stacks": networks.NETWORKS["stacks"],
}
# By name: the tool, and its model.
RUNS = {
    "litert": (_litert, "backwards_masked"),
    "tf2onnx": (_tf2onnx, "last_masked"),
    "openvino": (_openvino, "stacks"),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A function of a name: (folder of the rewritten model, input, what the layers return)."""
    made = {}

    def make(name):
        if name not in made:
            made[name] = _export(name, tmp_path_factory.mktemp(name))
        return made[name]

    return make


def _export(name, folder):
    model, _, signature, (*_, x) = networks.make(*NETWORKS[name], (networks.BATCH, networks.TIME))
    model = rnn.convert(model)
    archive = keras.export.ExportArchive()
    archive.track(model)
    signature = [tf.TensorSpec(one.shape, one.dtype, one.name) for one in signature]
    archive.add_endpoint("serve", lambda x: model(x, training=False), signature)
    archive.write_out(str(folder / "ours"), verbose=False)
    report = portable.rewrite_saved_model(folder / "ours", folder / "plain", verify_inputs={"x": x})
    assert report.ok and report.changed, report
    want = {name: array.numpy() for name, array in model(x, training=False).items()}
    return folder / "plain", x, want


def _graph_of(folder):
    data = (folder / "saved_model.pb").read_bytes()
    (meta_graph,) = saved_model_pb2.SavedModel.FromString(data).meta_graphs
    return meta_graph.graph_def


def test_what_converters_need(exported):
    """Without the tools: no op that one of them lacks, and lists of known sizes."""
    graph_def = _graph_of(exported("last_masked")[0])
    assert not graphs.ops_in(graph_def) & {"LowerBound", "UpperBound"}
    found = 0
    for function in graph_def.library.function:
        nodes = {node.name: node for node in function.node_def}
        for node in function.node_def:
            if node.op == "TensorListReserve":
                sizes = nodes[node.input[0].split(":")[0]]
                assert sizes.op == "Const", (function.signature.name, node.name)
                assert np.all(tf.make_ndarray(sizes.attr["value"].tensor) > 0)
                found += 1
    assert found > 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["backwards_masked", "stacks"])
def test_a_stock_server_has_all_ops(name, exported):
    """TensorFlow's registry has a CPU kernel for each op, and no op is from this package or for cuDNN."""
    graph_def = _graph_of(exported(name)[0])
    functions = {function.signature.name for function in graph_def.library.function}
    ops = graphs.ops_in(graph_def) - functions
    assert {"MatMul", "StatelessWhile"} <= ops

    def has_kernel(op):
        registered = kernels.get_registered_kernels_for_op(op).kernel
        return any(kernel.device_type in ("CPU", "DEFAULT") for kernel in registered)

    assert {op for op in ops if not has_kernel(op)} == set()
    assert not any(op.startswith(("TfRnnOps>", "CudnnRNN", "BlockLSTM")) for op in ops)
    assert not has_kernel("NoSuchOp")


@pytest.mark.parametrize("tool", RUNS)
def test_results_in(tool, exported):
    run, name = RUNS[tool]
    folder, x, want = exported(name)
    got = run(folder, x)
    for output, array in want.items():
        assert np.any(array != 0)
        np.testing.assert_allclose(got[output], array, rtol=0, atol=2e-6, err_msg=output)


@pytest.mark.parametrize(
    "node, op, name",
    [
        ("StatefulPartitionedCall_2/m_1/l_1/TfRnnOps>LayerRNN_1", "TfRnnOps>LayerRNN", "m_1/l_1"),
        ("m_1/l_1/TfRnnOps>LayerRNNPacked", "LayerRNNPacked", "m_1/l_1"),
        ("PartitionedCall/m/BlockLSTMV2", "BlockLSTMV2", "m"),
        ("m/other", "BlockLSTMV2", "m/other"),
        ("BlockLSTM", "BlockLSTM", "BlockLSTM"),
    ],
)
def test_layer_of_a_node(node, op, name):
    assert layer_of(node, op) == name
