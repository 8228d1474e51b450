"""Each function of the doors to what is private in TensorFlow and Keras, with the installed versions."""

import importlib
import pathlib
import pkgutil
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import struct_pb2

from tf_rnn_ops.keras import _internals
from tf_rnn_ops.keras._internals import layers, models, optimizers, overridden, quantization
from tf_rnn_ops.native import tf_internals
from tf_rnn_ops.native.tf_internals import checkpoints, graphs, lookup, pfor, registries, tracing
from tf_rnn_ops.params.keras import internals

KERAS_VERSION = tuple(map(int, keras.__version__.split(".")[:2]))


def door_modules():
    found = [internals]
    for package in (tf_internals, _internals):
        names = [
            info.name for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
        ]
        found += [importlib.import_module(name) for name in names]
    return found


def door_names():
    """The public functions and classes of the doors."""
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in door_modules()
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    }


def test_every_function_has_a_test():
    text = pathlib.Path(__file__).read_text()
    assert {
        name for name in door_names() if not re.search(rf"\b{re.escape(name)}\b", text)
    } == set()


def test_lookup():
    assert lookup.find("tensorflow:Module") is tf.Module
    assert lookup.need("tensorflow:nn.relu", "nothing") is tf.nn.relu
    assert lookup.want("tensorflow:nn.relu", "nothing") is tf.nn.relu
    assert lookup.base_class("tensorflow:Module", "nothing", ["with_name_scope"]) is tf.Module
    for name in ("tensorflow:no_such_name", "tensorflow.no_such_module:name"):
        sentence = (
            f"It fails, because TensorFlow {tf.__version__} has no {name.replace(':', '.')}, "
        )
        assert lookup.missing(name, "It fails").startswith(sentence)
        assert lookup.find(name) is None
        with pytest.raises(RuntimeError, match=re.escape(sentence)):
            lookup.need(name, "It fails")
        with pytest.warns(UserWarning, match=re.escape(sentence)):
            assert lookup.want(name, "It fails") is None
        with pytest.raises(RuntimeError, match=re.escape(sentence)):
            lookup.base_class(name, "It fails")()
    with pytest.raises(RuntimeError, match="has no tensorflow.Module.no_such_method"):
        lookup.base_class("tensorflow:Module", "It fails", ["no_such_method"])()


def test_registries():
    from tensorflow.python.debug.lib import check_numerics_callback

    registries.leave_out_of_check_numerics([("LayerOfNobody", 2)])
    assert (b"LayerOfNobody", 2) in check_numerics_callback.IGNORE_OP_OUTPUTS
    registries.register_flops(["Asinh"], lambda op: 7 * op.inputs[0].shape[0])
    registries.register_flops(["Asinh"], lambda op: 0)  # it has one
    with tf.Graph().as_default() as graph:
        tf.asinh(tf.compat.v1.placeholder(tf.float32, [3]))
    counted = tf.compat.v1.profiler.profile(
        graph,
        options=tf.compat.v1.profiler.ProfileOptionBuilder(
            tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
        )
        .with_empty_output()
        .build(),
    )
    assert counted.total_float_ops == 21
    assert [one.name for one in registries.op_def("MatMul").input_arg] == ["a", "b"]
    assert registries.op_def("NoSuchOp") is None


def test_what_is_recorded():
    # In Keras's own layers a variable is watched; here nothing is.
    assert tracing.may_record() is False
    with tf.GradientTape():
        assert tracing.may_record() is True
    assert tf.function(lambda: tf.constant(tracing.may_record()))()


def test_what_is_compiled():
    answers = []

    def note():
        answers.append((tracing.in_xla(), tracing.may_be_in_xla()))
        return tf.constant(0)

    note()
    tf.function(note)()
    tf.function(note, jit_compile=True)()
    assert answers == [(False, False), (False, False), (True, True)]


def test_traces_of_forward_mode():
    from tensorflow.python.eager import forwardprop

    x = tf.constant([1.0])
    with tf.autodiff.ForwardAccumulator(x, x) as accumulator:
        accumulator.jvp(tf.asinh(x))
    assert forwardprop._TRACE_COUNT["Asinh"] >= 1
    tracing.keep_sizes_in_forward_mode(["Asinh", "NoSuchOp"])
    assert "Asinh" not in forwardprop._TRACE_COUNT


def test_inputs_that_a_tape_does_not_want():
    found = []

    @tf.RegisterGradient("TfRnnOpsTestOfDoors")
    def gradient(op, upstream):
        found.append(tuple(tracing.unneeded_inputs(op)))
        return upstream, upstream

    from tensorflow.python.framework import ops

    x = tf.Variable([1.0])
    saved = ops.gradient_registry._registry.pop("Maximum")
    try:
        tf.RegisterGradient("Maximum")(gradient)
        with tf.GradientTape() as tape:
            y = tf.maximum(x, tf.constant([0.0]))
        tape.gradient(y, x)
    finally:
        ops.gradient_registry._registry["Maximum"] = saved
    assert found == [(1,)]
    with tf.Graph().as_default():
        assert tuple(tracing.unneeded_inputs(tf.constant(1.0).op)) == ()


def test_graphs():
    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def double(x):
        return 2 * x

    function_def = double.get_concrete_function().function_def
    graph_def, names = graphs.graph_of_function(function_def)
    assert any(node.op == "Mul" for node in graph_def.node)
    assert names["x"] == "x:0"
    assert graphs.without_scope("a/b/c", "a/b") == "c"
    assert graphs.with_scope("c", "a/b") == "a/b/c"


def test_collections_in_meta_graphs():
    with tf.Graph().as_default():
        key = "collection_of_test_doors"

        def to_proto(item, export_scope=None):
            proto = struct_pb2.Struct()
            proto.update({"item": item})
            return proto

        graphs.register_collection(key, struct_pb2.Struct, to_proto, None)
        graphs.register_collection(key, struct_pb2.Struct, None, None)  # it is registered
        tf.compat.v1.add_to_collection(key, 1)
        meta_graph = tf.compat.v1.train.export_meta_graph()
        assert len(meta_graph.collection_def[key].bytes_list.value) == 1


def test_pfor():
    seen = []

    def convert(call):
        assert isinstance(call, pfor.Call) and call.op.type == "Erfinv"
        (given,) = call.inputs
        assert isinstance(given, pfor.Input) and given.is_stacked
        assert int(tf.get_static_value(call.iterations)[0]) == 3
        (again,) = call.again([given.tensor])
        (looped,) = call.loop()
        seen.append((again.shape, looped.t.shape))
        if len(seen) == 2:
            raise pfor.not_converted("The second time TensorFlow's loop runs.")
        return [pfor.result(again, True)]

    from tensorflow.python.ops.parallel_for import pfor as tensorflows

    saved = tensorflows._pfor_converter_registry.pop("Erfinv")
    try:
        pfor.register_converter("Erfinv", convert)
        x = tf.constant([[0.1], [0.2], [0.3]])
        for _ in range(2):
            found = tf.vectorized_map(tf.math.erfinv, x)
            np.testing.assert_allclose(found, tf.math.erfinv(x), rtol=1e-6)
    finally:
        tensorflows._pfor_converter_registry["Erfinv"] = saved
    assert seen == [((3, 1), (3, 1))] * 2


class Doubled(checkpoints.Saveable):
    """Saves twice the value of a variable."""

    def __init__(self, variable):
        super().__init__("doubled", {"twice": lambda: 2 * variable}, [variable])

    def checkpoint_tensors(self):
        return {"twice": 2 * self.variables[0]}

    def restore_checkpoint(self, tensors):
        return self.variables[0].assign(tensors["twice"] / 2)

    def restore(self, restored_tensors, restored_shapes):
        return self.variables[0].assign(restored_tensors[0] / 2)


class Holder(checkpoints.Module):
    """A module with one dependency that is not its attribute."""

    @checkpoints.untracked
    def __init__(self, child):
        super().__init__()
        self.child = child

    def dependencies(self, in_checkpoint):
        return {"other_name" if in_checkpoint else "third_name": self.child}


def test_checkpoints(tmp_path):
    variable = tf.Variable([1.0, 2.0])
    saveable = Doubled(variable)
    assert isinstance(saveable, checkpoints.Part)
    path = tf.train.Checkpoint(x=Holder(saveable)).save(tmp_path / "a")
    (key,) = [name for name, _ in tf.train.list_variables(path) if "twice" in name]
    assert key.startswith("x/other_name/")
    np.testing.assert_array_equal(tf.train.load_variable(path, key), [2, 4])
    variable.assign([0, 0])
    tf.train.Checkpoint(x=Holder(saveable)).restore(path).assert_consumed()
    np.testing.assert_array_equal(variable, [1, 2])
    # As a Saver, and in a SavedModel.
    path = tf.compat.v1.train.Saver([saveable]).save(None, str(tmp_path / "b"))
    np.testing.assert_array_equal(tf.train.load_variable(path, "twice"), [2, 4])
    variable.assign([0, 0])
    tf.compat.v1.train.Saver([saveable]).restore(None, path)
    np.testing.assert_array_equal(variable, [1, 2])
    module = tf.Module()
    module.variable, module.saveable = variable, saveable
    tf.saved_model.save(module, str(tmp_path / "c"))
    np.testing.assert_array_equal(tf.saved_model.load(str(tmp_path / "c")).variable, [1, 2])


def test_what_is_restored_later(tmp_path):
    path = tf.train.Checkpoint(x=Holder(Doubled(tf.Variable([3.0])))).save(tmp_path / "a")
    late = Holder(None)
    late.dependencies = lambda in_checkpoint: {}
    status = tf.train.Checkpoint(x=late).restore(path)
    variable = tf.Variable([0.0])
    late.restore_deferred({"other_name": Doubled(variable)})
    np.testing.assert_array_equal(variable, [3])
    status.assert_existing_objects_matched()


def test_names_of_variables():
    first, second = tf.Variable(1.0, name="x"), tf.Variable(1.0, name="x")
    assert checkpoints.name_of_variable(first) != checkpoints.name_of_variable(second)
    with tf.Graph().as_default():
        reference = tf.compat.v1.get_variable("y", [1], use_resource=False)
        assert checkpoints.name_of_variable(reference) == "y"


def model_with_a_mask():
    inputs = keras.Input((5, 3), name="given")
    masked = keras.layers.Masking(name="masking")(inputs)
    outputs = keras.layers.LSTM(2, return_sequences=True, name="lstm")(masked)
    return keras.Model(inputs, outputs), masked


def test_objects_of_keras():
    model, masked = model_with_a_mask()
    call, layer, number = internals.call_of(model.outputs[0])
    assert layer is model.get_layer("lstm") and number == 0
    # The attributes of a call that stacks/graph.py and params/keras/graph.py read.
    assert call.operation is layer and call.outputs[0] is model.outputs[0]
    assert call.input_tensors[0] is masked
    assert call.arguments.args[0] is masked
    assert call.arguments.kwargs["training"] is False
    assert internals.mask_of(masked).shape == (None, 5)
    assert internals.mask_of(model.inputs[0]) is None
    assert internals.flatten_layers(model)[0] is model
    assert model.get_layer("lstm").cell in internals.flatten_layers(model)
    assert internals.attribute(model, "_layers", "nothing") == model._layers
    assert internals.missing(model, "_x", "It fails") == (
        f"It fails, because in keras {keras.__version__} a Functional has no _x, which Keras 3.5 to 3.15 have."
    )


def test_what_layers_hold():
    model, _ = model_with_a_mask()
    names = [layer.name for layer in layers.inner_layers(model)]
    assert names == ["given", "masking", "lstm"]
    cell = keras.layers.LSTMCell(2, dropout=0.5)
    cell.build((None, 3))
    held = layers.held(cell)
    assert [variable.name for variable in held["variables"][:3]] == [
        "kernel",
        "recurrent_kernel",
        "bias",
    ]
    assert held["layers"] == [] and held["seed generators"] == [cell.seed_generator]
    layer = keras.layers.Layer()
    layer.state = keras.Variable([1.0])
    assert layer.weights == [layer.state]
    layers.untrack(layer, layer.state)
    assert layer.weights == []


def test_layers_get_other_variables():
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    with pytest.raises(ValueError, match="to a layer that is already built"):
        layer.add_weight(shape=(1,), name="more")
    with quantization.unlocked(layer):
        layer.add_weight(shape=(1,), name="more")
    assert [weight.name for weight in layer.weights] == ["kernel", "bias", "more"]
    quantization.count_as_quantized(layer)
    layer.dtype_policy = "int8_from_float32"
    assert layer.kernel.dtype == "float32"


def test_variables_that_a_mixed_policy_does_not_cast():
    seen = []

    class Reader(keras.layers.Layer):
        def build(self, shape):
            self.weight = self.add_weight(shape=(1,))

        def call(self, x):
            seen.append(self.weight.value.dtype.name)
            return x

    layer = Reader(dtype="mixed_bfloat16")
    layer.build(None)
    for casts in (True, False):
        quantization.autocast(layer.weight, casts)
        layer(np.ones(1, "float32"))
    quantization.autocast(None, True)
    assert seen == ["bfloat16", "float32"]


def test_who_sets_an_attribute():
    seen = []

    class Watched(keras.layers.Layer):
        @property
        def supports_jit(self):
            raise AttributeError("Keras does not assign a value that it finds")

        @supports_jit.setter
        def supports_jit(self, value):
            seen.append(layers.is_set_by_keras())

    layer = Watched()
    assert seen and all(seen)
    layer.supports_jit = False
    assert seen[-1] is False


def test_how_a_model_was_compiled():
    model, _ = model_with_a_mask()
    assert models.strategy_of(model) is None
    assert models.strategy_of(model.get_layer("lstm")) is None
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model, _ = model_with_a_mask()
        model.compile("sgd", "mse", metrics=["mae"])
    assert models.strategy_of(model) is strategy
    arguments = models.compile_arguments(model)
    assert arguments["loss"] == "mse" and arguments["metrics"] == ["mae"]


def test_whether_a_model_counts_as_called():
    model = keras.Sequential([keras.layers.Dense(2)])
    assert not models.was_called(model)
    models.count_as_called(model)
    assert models.was_called(model)


def test_the_output_shape_of_a_lambda():
    double = keras.layers.Lambda(lambda x: 2 * x, output_shape=(3,))
    assert layers.output_shape_of(double) == (3,)
    assert layers.output_shape_of(keras.layers.Dense(2)) is None


def test_whether_a_model_made_its_input():
    model = keras.Sequential([keras.layers.Dense(2)])
    assert not models.made_its_input(model)
    model(np.ones((4, 3), "float32"))
    assert models.made_its_input(model)
    sizes = {"batch_shape": (4, 3)}
    for options in (
        {"shape": (3,), "batch_size": 4},
        sizes,
        {"dtype": "float32", "name": "x", **sizes},
        {"dtype": "float16", **sizes},
    ):
        given = keras.Sequential([keras.Input(**options), keras.layers.Dense(2)])
        assert not models.made_its_input(given)


def test_what_optimizers_keep():
    variables = [keras.Variable([1.0], name="kernel"), keras.Variable([1.0], name="bias")]
    optimizer = keras.optimizers.SGD()
    assert optimizers.exclusion_of(optimizer) is None
    optimizer.exclude_from_weight_decay(var_list=variables[:1], var_names=["bias$"])
    exclusion = optimizers.exclusion_of(optimizer)
    assert isinstance(exclusion, optimizers.Exclusion)
    assert [exclusion.excludes(variable) for variable in variables] == [True, False]  # bias:0
    assert exclusion.pattern.pattern == "bias$"
    optimizer.build(variables)
    assert optimizers.trained_variables(optimizer) == variables


def test_what_is_overridden():
    assert overridden.no_inner_loop() is None
    assert overridden.no_rematerialized_call() is None
    assert hasattr(keras, "RematScope") == (KERAS_VERSION >= (3, 9))
    assert len(overridden.fused_bidirectional_methods()) == (2 if KERAS_VERSION >= (3, 15) else 0)
    assert overridden.no_fused_bidirectional() is None
    cell = keras.layers.LSTMCell(2, dropout=0.5, recurrent_dropout=0.5, implementation=2)
    for mask in (
        overridden.dropout_mask(cell, tf.ones([4, 3])),
        overridden.recurrent_dropout_mask(cell, tf.ones([4, 2])),
    ):
        assert mask is not None


def test_masks_for_gates():
    cells = [keras.layers.LSTMCell(2, implementation=one) for one in (1, 2)]
    assert overridden.counts_dropout_masks() == hasattr(cells[0], "dropout_mask_count")
    assert not hasattr(cells[1], "dropout_mask_count")


def test_variables_that_are_removed():
    cell = keras.layers.LSTMCell(2)
    cell.build((None, 3))
    layers.remove_variable(cell, "kernel")
    assert not hasattr(cell, "kernel")
    assert [one.name for one in cell.variables if "seed" not in one.path] == [
        "recurrent_kernel",
        "bias",
    ]
