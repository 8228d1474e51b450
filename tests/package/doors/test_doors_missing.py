"""The messages of the package if TensorFlow or Keras lacks one of the private names."""

import functools
import json
import re
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from hidden import hide

import tf_rnn_ops.keras
from support import subproc
from support.selection import all_but
from tf_rnn_ops.keras._internals import layers, optimizers, overridden, quantization
from tf_rnn_ops.keras.path import environment
from tf_rnn_ops.native.tf_internals import checkpoints, graphs, pfor, registries, tracing
from tf_rnn_ops.params import from_keras
from tf_rnn_ops.params.keras import internals

FRAMEWORK = "tensorflow.python.framework."
TRACKING = "tensorflow:__internal__.tracking."
SAVEABLE = "tensorflow.python.training.saving.saveable_object:"
PFOR = "tensorflow.python.ops.parallel_for.pfor:"
# The pattern of one sentence.
ONE = r"(?:(?!\. ).)*"


def look_up_again():
    cached = [tracing._could_possibly_record, tracing._graph_in_xla, tracing._traces]
    cached += [registries._statistics]
    for function in (*cached, overridden.no_inner_loop, optimizers._check_exclusion):
        function.cache_clear()
    internals._attaches.clear()


@pytest.fixture(autouse=True)
def _looked_up_again():
    """Makes the package look up its names again after a test."""
    look_up_again()
    yield
    look_up_again()


@pytest.fixture
def without(monkeypatch):
    """Hides a name of TensorFlow for a test."""

    def hidden(name):
        hide(name, monkeypatch.setitem, monkeypatch.delattr)
        look_up_again()

    return hidden


def sentence(name):
    """A pattern for what is said of a name of TensorFlow."""
    name = name.replace(":", ".")
    return rf"^{ONE}, because TensorFlow {re.escape(tf.__version__)} has no {re.escape(name)}, which TensorFlow"


def no(name, version=rf"keras {re.escape(keras.__version__)}"):
    """A pattern for what is said of an attribute of an object of Keras."""
    return rf"^{ONE}, because in {version} a \w+ has no {name}, which Keras 3.5 to 3.15 have\.$"


RAISE = {
    f"{FRAMEWORK}op_def_registry:get": lambda: registries.op_def("MatMul"),
    f"{FRAMEWORK}function_def_to_graph:function_def_to_graph_def": lambda: graphs.graph_of_function(
        None
    ),
    f"{FRAMEWORK}ops:strip_name_scope": lambda: graphs.without_scope("a/b", "a"),
    f"{FRAMEWORK}ops:prepend_name_scope": lambda: graphs.with_scope("b", "a"),
    f"{SAVEABLE}SaveSpec": lambda: checkpoints.Saveable("x", {}, [tf.Variable(1.0)]),
    f"{TRACKING}no_automatic_dependency_tracking": lambda: checkpoints.untracked(print)(None),
}


@pytest.mark.parametrize("name", RAISE)
def test_an_error(name, without):
    without(name)
    with pytest.raises(RuntimeError, match=sentence(name)):
        RAISE[name]()


WARN = {
    "tensorflow.python.debug.lib.check_numerics_callback:IGNORE_OP_OUTPUTS": lambda: (
        registries.leave_out_of_check_numerics([("X", 0)])
    ),
    f"{FRAMEWORK}ops:RegisterStatistics": lambda: registries.register_flops(["Asinh"], len),
    f"{FRAMEWORK}ops:OpStats": lambda: registries.register_flops(["Asinh"], len),
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


@pytest.mark.parametrize("name", WARN)
def test_a_warning(name, without):
    without(name)
    with pytest.warns(UserWarning, match=sentence(name)):
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
    with pytest.warns(UserWarning, match=sentence(name)) as caught:
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
    assert set(reasons) == {"This TensorFlow's pfor has no new_loop_len_vector."}


def test_an_eager_variable_without_an_identifier(monkeypatch):
    variable = tf.Variable(1.0)
    monkeypatch.delattr(variable, "_unique_id")
    with pytest.raises(RuntimeError, match=sentence("tensorflow:Variable._unique_id")):
        checkpoints.name_of_variable(variable)


# The names that the import of the package looks up.
AT_IMPORT = {
    f"{TRACKING}Trackable": ["contrib saveable"],
    f"{SAVEABLE}SaveableObject": ["contrib saveable"],
    f"{TRACKING}no_automatic_dependency_tracking": ["contrib layer"],
    "tensorflow.python.debug.lib.check_numerics_callback:IGNORE_OP_OUTPUTS": [],
    f"{FRAMEWORK}ops:RegisterStatistics": [],
    f"{FRAMEWORK}ops:register_proto_function": [],
    f"{PFOR}_pfor_converter_registry": [],
    f"{PFOR}_create_op": [],
    f"{PFOR}_fallback_converter": [],
    f"{PFOR}wrap": [],
    f"{PFOR}ConversionNotImplementedError": [],
}
# Names that the import does not look up.
LATER = [*RAISE, *WARN, "tensorflow.python.eager.record:could_possibly_record"]


def _said(*names):
    return json.loads(subproc.run_module("import_without", *names).splitlines()[-1])


@functools.cache
def _said_with_all():
    return _said()


def _assert_only(found, names, failing):
    """The messages are only about these names, and only these uses fail."""
    assert found.keys() == _said_with_all().keys()
    for use, text in found.items():
        if use == "warnings":
            assert all(any(re.match(sentence(name), one) for name in names) for one in text), text
        elif use in failing:
            assert any(re.match(sentence(n), text.removeprefix("RuntimeError: ")) for n in names)
        else:
            assert text == "", (use, text)


def test_with_all_names_nothing_is_said():
    assert _said_with_all()["warnings"] == []
    assert not any(_said_with_all().values())


@pytest.mark.parametrize("name", all_but(AT_IMPORT, f"{TRACKING}Trackable", f"{PFOR}wrap"))
def test_the_import(name):
    found = _said(name)
    _assert_only(found, [name], AT_IMPORT[name])
    assert AT_IMPORT[name] or len(found["warnings"]) == 1


def test_the_import_without_all_of_them():
    names = {*AT_IMPORT, *LATER}
    failing = {use for uses in AT_IMPORT.values() for use in uses}
    _assert_only(_said(*names), names, failing)


# Keras.


def _model(layer=None):
    inputs = keras.Input((5, 3))
    masked = keras.layers.Masking()(inputs)
    return keras.Model(inputs, (layer or keras.layers.LSTM(2))(masked))


def test_masks_under_another_name_are_not_ignored(monkeypatch):
    backend = pytest.importorskip("keras.src.backend")
    if not hasattr(backend, "set_keras_mask"):
        pytest.skip("this Keras sets the attribute in several places")
    monkeypatch.setattr(backend, "set_keras_mask", lambda x, mask: setattr(x, "_mask_of_x", mask))
    model = _model(tf_rnn_ops.keras.CudnnLSTM(2))
    for use in (
        lambda: tf_rnn_ops.keras.convert(model, to="keras"),
        lambda: internals.mask_of(model.inputs[0]),
    ):
        with pytest.raises(RuntimeError, match=no("_keras_mask")):
            use()


class Bare:
    """An object without attributes."""


Bare.__module__ = "keras.bare"


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("_keras_history", internals.call_of),
        ("_flatten_layers", internals.flatten_layers),
        ("_layers", layers.inner_layers),
        ("_trainable_variables", layers.held),
        ("_untrack_variable", lambda thing: layers.untrack(thing, None)),
        ("_trainable_variables", optimizers.trained_variables),
        ("_exclude_from_weight_decay_pattern", optimizers.Exclusion),
        ("get_dropout_mask", lambda thing: overridden.dropout_mask(thing, None)),
        (
            "get_recurrent_dropout_mask",
            lambda thing: overridden.recurrent_dropout_mask(thing, None),
        ),
    ],
)
def test_an_attribute_of_keras(name, use):
    with pytest.raises(RuntimeError, match=no(name)):
        use(Bare())


def test_layers_that_keras_does_not_lock():
    with quantization.unlocked(Bare()):
        pass


def test_an_int8_layer_whose_bias_keras_casts(monkeypatch):
    """The op then computes with a bias in bfloat16, whose weights are packed at each call."""
    x = np.ones((2, 3, 4), "float32")
    layer = tf_rnn_ops.keras.LSTM(5, dtype="mixed_bfloat16", bias_initializer="glorot_normal")
    want = keras.ops.cast(layer(x), "float32")
    layer.quantize("int8")
    quantization.autocast(layer.cell.bias, True)  # as if Keras did not read the attribute
    np.testing.assert_allclose(keras.ops.cast(layer(x), "float32"), want, atol=0.03)


def test_layers_inside_of_layers(monkeypatch):
    model = _model()
    monkeypatch.delattr(keras.layers.Layer, "_flatten_layers")
    for use in (lambda: tf_rnn_ops.keras.convert(model), lambda: from_keras(model)):
        with pytest.raises(RuntimeError, match=no("_flatten_layers")):
            use()


def test_how_a_model_was_compiled_and_distributed(monkeypatch):
    model = _model()
    model.compile("sgd", "mse")
    for name in ("_compile_config", "_distribute_strategy"):
        with monkeypatch.context() as patch:
            patch.delattr(model, name)
            with pytest.raises(RuntimeError, match=no(name)):
                tf_rnn_ops.keras.convert(model)
    tf_rnn_ops.keras.convert(model)


def test_what_is_excluded_from_weight_decay(monkeypatch):
    """Also where nothing was excluded, since that looks the same."""

    def exclude(self, var_list=None, var_names=None):
        self._left_out_of_weight_decay = var_names

    model = _model()
    model.compile(keras.optimizers.SGD(weight_decay=0.1), "mse")
    monkeypatch.setattr(keras.optimizers.Optimizer, "exclude_from_weight_decay", exclude)
    with pytest.raises(RuntimeError, match=no("_exclude_from_weight_decay_pattern")):
        tf_rnn_ops.keras.convert(model)


def test_without_inner_loop(monkeypatch):
    for cls in (keras.layers.LSTM, keras.layers.GRU, keras.layers.RNN):
        monkeypatch.delattr(cls, "inner_loop")
    said = rf"Keras {re.escape(keras.__version__)} has no keras\.layers\.LSTM\.inner_loop, which"
    with pytest.warns(UserWarning, match=said):
        environment.check()
    layer = tf_rnn_ops.keras.LSTM(2)
    assert re.match(said, tf_rnn_ops.keras.explain(layer, print_fn=None)[0].reason)
    with pytest.raises(RuntimeError, match=said):
        tf_rnn_ops.keras.accelerate()


def test_without_rematerialized_call(monkeypatch):
    if not hasattr(keras, "RematScope"):
        pytest.skip("this Keras has no RematScope")
    for cls in keras.layers.Layer.__mro__:
        monkeypatch.delattr(cls, "rematerialized_call", raising=False)
    with pytest.warns(UserWarning, match=r"has no keras\.layers\.Layer\.rematerialized_call, so"):
        environment.check()


def test_without_the_methods_of_bidirectional(monkeypatch):
    for name in overridden.fused_bidirectional_methods():
        monkeypatch.delattr(keras.layers.Bidirectional, name)
    monkeypatch.setattr(keras, "__version__", "3.15.9")
    with pytest.warns(UserWarning, match=r"Keras 3\.15\.9 has no Bidirectional\._can_attempt"):
        keras.layers.Bidirectional(tf_rnn_ops.keras.LSTM(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keras.layers.Bidirectional(keras.layers.LSTM(2))
        monkeypatch.setattr(keras, "__version__", "3.14.0")  # which never had them
        keras.layers.Bidirectional(tf_rnn_ops.keras.LSTM(2))


def test_the_import_without_names_of_keras():
    names = [f"keras:layers.{name}.inner_loop" for name in ("LSTM", "GRU", "RNN")]
    found = _said(*names)
    assert len(found["warnings"]) == 1
    assert "has no keras.layers.LSTM.inner_loop, which" in found["warnings"][0]
    assert found["accelerate"].startswith(
        "RuntimeError: accelerate() cannot replace the implementation"
    )
