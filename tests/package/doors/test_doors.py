"""The doors to private names (native/tf_internals, keras/_internals, params/keras/internals.py).

If a name is missing, its door raises an error or warns, and says which name it is. Here are also the doors that the
test of no feature runs through.
"""

import importlib
import re
import sys
import types
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops.keras
from tf_rnn_ops.keras._internals import (
    layers,
    models,
    optimizers,
    overridden,
    quantization,
    tensors,
)
from tf_rnn_ops.keras.dispatch import environment
from tf_rnn_ops.native.tf_internals import (
    checkpoints,
    graphs,
    lookup,
    pfor,
    registries,
    tracing,
)
from tf_rnn_ops.params.keras import internals

FRAMEWORK = "tensorflow.python.framework."
TRACKING = "tensorflow:__internal__.tracking."
SAVEABLE = "tensorflow.python.training.saving.saveable_object:"
CHECK_NUMERICS = "tensorflow.python.debug.lib.check_numerics_callback:IGNORE_OP_OUTPUTS"


def hide(name, monkeypatch):
    """Hides a name, such as 'tensorflow.python.eager.record:could_possibly_record', from later imports of its module.

    TensorFlow and Keras themselves still have the name.
    """
    module, _, path = name.partition(":")
    *owners, last = path.split(".")
    things = [importlib.import_module(module)]
    for owner in owners:
        things.append(getattr(things[-1], owner))
    if isinstance(things[-1], type):
        monkeypatch.delattr(things[-1], last)
        return
    # Copies of the modules on the way, each with the copy of the next one.
    copy = _copy(things.pop(), {})
    del vars(copy)[last]
    for owner in reversed(owners):
        copy = _copy(things.pop(), {owner: copy})
    monkeypatch.setitem(sys.modules, module, copy)


def _copy(module, other):
    copy = types.ModuleType(module.__name__)
    vars(copy).update({**vars(module), **other})
    return copy


def look_up_again():
    cached = (tracing._could_possibly_record, tracing._graph_in_xla, tracing._traces)
    others = (overridden.no_inner_loop, optimizers._check_exclusion, tensors._check_masks)
    for function in (*cached, *others):
        function.cache_clear()


@pytest.fixture(autouse=True)
def _looked_up_again():
    """Makes the package look up its names again in a test, and after it."""
    look_up_again()
    yield
    look_up_again()


@pytest.fixture
def without(monkeypatch):
    """Hides a name of TensorFlow for a test."""

    def hidden(name):
        hide(name, monkeypatch)
        look_up_again()

    return hidden


def names(name):
    """A pattern for a text that names something missing of TensorFlow."""
    return rf"\b{re.escape(name.replace(':', '.'))}\b"


RAISE = {
    f"{FRAMEWORK}op_def_registry:get": lambda: registries.op_def("MatMul"),
    f"{FRAMEWORK}function_def_to_graph:function_def_to_graph_def": lambda: graphs.graph_of_function(
        None
    ),
    f"{FRAMEWORK}ops:strip_name_scope": lambda: graphs.without_scope("a/b", "a"),
    f"{FRAMEWORK}ops:prepend_name_scope": lambda: graphs.with_scope("b", "a"),
    f"{SAVEABLE}SaveSpec": lambda: checkpoints.Saveable("x", {}, [tf.Variable(1.0)]),
    f"{TRACKING}no_automatic_dependency_tracking": lambda: checkpoints.untracked(print)(None),
    "tensorflow:no_such_name": lambda: lookup.base_class("tensorflow:no_such_name", "It fails")(),
    "tensorflow:Module.no_such": lambda: lookup.base_class("tensorflow:Module", "", ["no_such"])(),
}
WARN = {
    CHECK_NUMERICS: lambda: registries.leave_out_of_check_numerics([("X", 0)]),
    f"{FRAMEWORK}ops:get_to_proto_function": lambda: graphs.register_collection(
        "x", None, None, None
    ),
    f"{FRAMEWORK}ops:register_proto_function": lambda: graphs.register_collection(
        "x", None, None, None
    ),
    "tensorflow.python.eager.forwardprop:_TRACE_COUNT": lambda: tracing.keep_sizes_in_forward_mode(
        ["X"]
    ),
}


@pytest.mark.parametrize("name", [*RAISE, *WARN])
def test_a_name_of_tensorflow(name, without):
    if "no_such" not in name:
        without(name)
    if name in RAISE:
        with pytest.raises(RuntimeError, match=names(name)):
            RAISE[name]()
    else:
        with pytest.warns(UserWarning, match=names(name)):
            WARN[name]()


def _eager_stack():
    layer = tf_rnn_ops.keras.CudnnLSTM(2, use_bias=False)
    x = np.ones([2, 3, 4], np.float32)
    layer.build(x.shape)
    return lambda: layer(x)


def _masked_layer():
    layer = tf_rnn_ops.keras.LSTM(2, return_sequences=True)
    x = np.random.default_rng(0).normal(size=[2, 3, 4]).astype("float32")
    mask = np.array([[True, False, True], [True, True, False]])
    layer.build(x.shape)
    return tf.function(lambda: layer(x, mask=tf.constant(mask)))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("tensorflow.python.eager.record:could_possibly_record", _eager_stack),
        ("tensorflow.python.ops.control_flow_util:GraphOrParentsInXlaContext", _masked_layer),
    ],
)
def test_the_same_results_with_one_warning(name, make, without):
    keras.utils.set_random_seed(0)
    want = make()()
    without(name)
    keras.utils.set_random_seed(0)
    call = make()
    with pytest.warns(UserWarning, match=names(name)) as caught:
        got = call()
    assert len([one for one in caught if "has no" in str(one.message)]) == 1
    np.testing.assert_allclose(got, want, atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


def test_attributes_of_pfor(monkeypatch):
    """TensorFlow's loop gives the result, and its log the reason."""
    layer = tf_rnn_ops.keras.LSTM(2)
    x = tf.random.normal([3, 2, 4, 5])
    want = tf.stack([layer(each) for each in x])
    reasons, original = [], pfor.not_converted

    def noted(reason):
        reasons.append(reason)
        return original(reason)

    monkeypatch.setattr(pfor, "not_converted", noted)
    of_loop = pfor.Call._of_loop
    monkeypatch.setattr(pfor.Call, "_of_loop", lambda self, name: of_loop(self, f"new_{name}"))
    np.testing.assert_allclose(tf.vectorized_map(layer, x), want, atol=1e-6)
    assert reasons and all("new_loop_len_vector" in reason for reason in reasons)


def test_an_eager_variable_without_an_identifier(monkeypatch):
    variable = tf.Variable(1.0)
    monkeypatch.delattr(variable, "_unique_id")
    with pytest.raises(RuntimeError, match=names("tensorflow:Variable._unique_id")):
        checkpoints.name_of_variable(variable)


# Keras.


class Bare:
    """An object without attributes."""


Bare.__module__ = "keras.bare"


class BareModel(keras.Model):
    """A model without private attributes of Keras."""

    def __getattribute__(self, name):
        if name in ("_compile_config", "_distribute_strategy"):
            raise AttributeError(name)
        return super().__getattribute__(name)


BareModel.__module__ = "keras.bare"


@pytest.mark.parametrize(
    ("name", "use", "make"),
    [
        ("_keras_history", tensors.call_of, Bare),
        ("_flatten_layers", internals.flatten_layers, Bare),
        ("_inbound_nodes", internals.inputs_of_calls, Bare),
        ("_layers", layers.inner_layers, Bare),
        ("_trainable_variables", layers.held, Bare),
        ("_untrack_variable", lambda thing: layers.untrack(thing, None), Bare),
        ("_compile_config", models.compile_arguments, Bare),
        ("_distribute_strategy", models.strategy_of, BareModel),
        ("_trainable_variables", optimizers.trained_variables, Bare),
        ("_exclude_from_weight_decay_pattern", optimizers.Exclusion, Bare),
        ("get_dropout_mask", lambda thing: overridden.dropout_mask(thing, None), Bare),
        (
            "get_recurrent_dropout_mask",
            lambda thing: overridden.recurrent_dropout_mask(thing, None),
            Bare,
        ),
    ],
)
def test_an_attribute_of_keras(name, use, make):
    with pytest.raises(RuntimeError, match=name):
        use(make())


def test_layers_that_keras_does_not_lock():
    with quantization.unlocked(Bare()) as nothing:
        assert nothing is None


def test_an_int8_layer_whose_bias_keras_casts():
    """The op then computes with a bias in bfloat16, whose weights are packed at each call."""
    x = np.ones((2, 3, 4), "float32")
    layer = tf_rnn_ops.keras.LSTM(5, dtype="mixed_bfloat16", bias_initializer="glorot_normal")
    want = keras.ops.cast(layer(x), "float32")
    layer.quantize("int8")
    quantization.autocast(layer.cell.bias, True)  # as if Keras did not read the attribute
    np.testing.assert_allclose(keras.ops.cast(layer(x), "float32"), want, atol=0.03)


def test_without_inner_loop(monkeypatch):
    for cls in (keras.layers.LSTM, keras.layers.GRU, keras.layers.RNN):
        monkeypatch.delattr(cls, "inner_loop")
    with pytest.warns(UserWarning, match="inner_loop"):
        environment.check()
    layer = tf_rnn_ops.keras.LSTM(2)
    assert "inner_loop" in tf_rnn_ops.keras.explain(layer, print_fn=None)[0].reason
    with pytest.raises(RuntimeError, match="inner_loop"):
        tf_rnn_ops.keras.accelerate()


def test_without_rematerialized_call(monkeypatch):
    if not hasattr(keras, "RematScope"):
        pytest.skip("this Keras has no RematScope")
    for cls in keras.layers.Layer.__mro__:
        monkeypatch.delattr(cls, "rematerialized_call", raising=False)
    with pytest.warns(UserWarning, match="rematerialized_call"):
        environment.check()


def test_without_the_methods_of_bidirectional(monkeypatch):
    for name in overridden.fused_bidirectional_methods():
        monkeypatch.delattr(keras.layers.Bidirectional, name)
    monkeypatch.setattr(keras, "__version__", "3.15.9")
    with pytest.warns(UserWarning, match="_can_attempt_fused_lstm"):
        keras.layers.Bidirectional(tf_rnn_ops.keras.LSTM(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keras.layers.Bidirectional(keras.layers.LSTM(2))
        monkeypatch.setattr(keras, "__version__", "3.14.0")  # which never had them
        keras.layers.Bidirectional(tf_rnn_ops.keras.LSTM(2))


def test_masks_under_another_name_are_not_ignored(monkeypatch):
    backend = pytest.importorskip("keras.src.backend")
    if not hasattr(backend, "set_keras_mask"):
        pytest.skip("this Keras sets the attribute in several places")
    monkeypatch.setattr(backend, "set_keras_mask", lambda x, mask: setattr(x, "_mask_of_x", mask))
    masked = keras.layers.Masking()(keras.Input((5, 3)))
    with pytest.raises(RuntimeError, match="_keras_mask"):
        tensors.mask_of(masked)


def test_weight_decay_under_another_name_is_not_ignored(monkeypatch):
    """Also where nothing was excluded, since that looks the same."""

    def exclude(self, var_list=None, var_names=None):
        self._left_out_of_weight_decay = var_names

    monkeypatch.setattr(keras.optimizers.Optimizer, "exclude_from_weight_decay", exclude)
    with pytest.raises(RuntimeError, match="_exclude_from_weight_decay_pattern"):
        optimizers.exclusion_of(keras.optimizers.SGD(weight_decay=0.1))


# Doors with the installed versions.


def test_may_record():
    # In Keras's own layers a variable is watched; here nothing is.
    assert tracing.may_record() is False
    with tf.GradientTape():
        assert tracing.may_record() is True
    assert tf.function(lambda: tf.constant(tracing.may_record()))()


def test_graph_of_function():
    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def double(x):
        return 2 * x

    function_def = double.get_concrete_function().function_def
    graph_def, tensors = graphs.graph_of_function(function_def)
    assert any(node.op == "Mul" for node in graph_def.node)
    assert tensors["x"] == "x:0"


def test_has_sizes_of_a_batch(tmp_path):
    def loaded(model):
        model.save(tmp_path / "model.keras")
        return keras.models.load_model(tmp_path / "model.keras")

    model = keras.Sequential([keras.layers.Dense(2)])
    assert not models.has_sizes_of_a_batch(model)
    model(np.ones((4, 3), "float32"))
    assert models.has_sizes_of_a_batch(model)
    assert models.has_sizes_of_a_batch(loaded(model))
    sizes = {"batch_shape": (4, 3)}
    for options in (
        {"shape": (3,), "batch_size": 4},
        sizes,
        {"dtype": "float32", "name": "x", **sizes},
        {"dtype": "float16", **sizes},
    ):
        given = keras.Sequential([keras.Input(**options), keras.layers.Dense(2)])
        assert not models.has_sizes_of_a_batch(given)
    open_batch = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    assert not models.has_sizes_of_a_batch(loaded(open_batch))


def test_masks_for_gates():
    cells = [keras.layers.LSTMCell(2, implementation=one) for one in (1, 2)]
    assert overridden.counts_dropout_masks() == hasattr(cells[0], "dropout_mask_count")
    assert not hasattr(cells[1], "dropout_mask_count")
