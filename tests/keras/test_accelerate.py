"""accelerate and restore: stock layers on the op, and off it again."""

import logging
import sys
import threading
import types
import warnings

import compare_layers as compare
import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from tf_rnn_ops.keras import accelerate, explain, restore

LAYERS = (keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN)
ORIGINALS = [dict(cls.__dict__) for cls in LAYERS]


def untouched():
    """Whether Keras's classes are as Keras made them."""
    return all(
        cls.__dict__.get(name) is original.get(name)
        for cls, original in zip(LAYERS, ORIGINALS)
        for name in ("inner_loop", "supports_jit")
    )


@pytest.mark.parametrize("mask", ["no_mask", "right", "holes"])
@pytest.mark.parametrize("name", compare.NAMES)
def test_same_results(name, mask, rng, op_calls):
    stock, _ = compare.pair(name, return_sequences=True)
    x, _ = compare.values(rng)
    mask = compare.MASKS[mask]
    want = compare.as_arrays(compare.outcome(stock, x, mask, training=True))
    assert op_calls == []
    with accelerate():
        got = compare.as_arrays(compare.outcome(stock, x, mask, training=True))
    assert op_calls == ["LayerRNN"]
    compare.assert_outcomes(got, want, "float64")
    again = compare.as_arrays(compare.outcome(stock, x, mask, training=True))
    assert op_calls == ["LayerRNN"]
    np.testing.assert_array_equal(again["r0"], want["r0"])
    assert untouched()


def test_layers_in_bidirectional_and_subclasses(rng, op_calls):
    class Mine(keras.layers.GRU):
        pass

    x, _ = compare.values(rng, "float32")
    wrapped, mine = keras.layers.Bidirectional(keras.layers.LSTM(3)), Mine(3)
    want = wrapped(x), mine(x)
    with accelerate():
        got = wrapped(x), mine(x)
        assert [row.path for row in explain(keras.Sequential([wrapped]), None)] == [
            "fused",
            "fused",
        ]
        assert explain(mine, None)[0].path == "fused"
    assert op_calls == ["LayerRNN"] * 3
    for one, other in zip(got, want):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_loop_where_the_op_cannot(rng, op_calls):
    layer, _ = compare.pair("LSTM", activation="elu")
    x, _ = compare.values(rng)
    want = layer(x)[0]
    with accelerate():
        assert layer.supports_jit is True
        np.testing.assert_array_equal(layer(x)[0], want)
    assert op_calls == []


def test_calls_and_blocks():
    assert untouched()
    accelerate()
    accelerate()
    assert not untouched()
    restore()
    assert untouched()
    restore()
    assert untouched()
    with accelerate():
        with accelerate():
            pass
        assert not untouched()
        restore()  # concerns calls, not blocks
        assert not untouched()
    assert untouched()
    accelerate()
    with accelerate():
        pass
    assert not untouched()
    restore()
    assert untouched()
    with pytest.raises(KeyError), accelerate():
        raise KeyError
    assert untouched()
    with accelerate() as token:
        with token:
            pass
        assert not untouched()
    assert untouched()


def test_each_call_ends_by_its_own_restore():
    first, second = accelerate(), accelerate()
    first.restore()
    assert not untouched()
    first.restore()
    assert not untouched()
    second.restore()
    assert untouched()
    with accelerate() as token:
        token.restore()
        assert untouched()
    assert untouched()
    with accelerate() as outer:
        accelerate().restore()
        assert not untouched()
        with outer:
            outer.restore()
            assert untouched()
    assert untouched()
    first = accelerate()
    restore()
    first.restore()
    assert untouched()


def test_blocks_in_threads(rng, op_calls):
    """Blocks that overlap in threads: the patch stays until the last one ends."""
    layer, _ = compare.pair("GRU")
    x, _ = compare.values(rng)
    layer(x)
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    errors = []

    def first():
        with accelerate():
            first_in.set()
            second_in.wait(60)
        first_out.set()

    def second():
        try:
            first_in.wait(60)
            with accelerate():
                second_in.set()
                first_out.wait(60)
                layer(x)
                assert op_calls == ["LayerRNN"]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=target) for target in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == [] and op_calls == ["LayerRNN"]
    assert untouched()


def test_compile_and_fit(rng, op_calls):
    x, y = rng.normal(size=(6, 4, 3)), rng.normal(size=(6, 2))
    with accelerate():
        model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(2)])
        model.compile("sgd", "mse")
        model.fit(x, y, verbose=0)
    assert op_calls == ["LayerRNN"]
    assert model.layers[0].supports_jit is True


def test_another_patch_on_top_survives():
    with accelerate():
        ours = keras.layers.LSTM.inner_loop

        def theirs(self, *arguments, **keywords):
            return ours(self, *arguments, **keywords)

        keras.layers.LSTM.inner_loop = theirs
    try:
        assert keras.layers.LSTM.inner_loop is theirs
        assert keras.layers.LSTM(2)(np.ones((1, 3, 2), "float32")).shape == (1, 2)
    finally:
        keras.layers.LSTM.inner_loop = ORIGINALS[0]["inner_loop"]
    assert untouched()


def test_our_layers_do_not_mind(rng, op_calls):
    _, ours = compare.pair("LSTM")
    x, _ = compare.values(rng)
    want = ours(x)[0]
    with accelerate():
        np.testing.assert_array_equal(ours(x)[0], want)
    assert op_calls == ["LayerRNN"] * 2


def test_keras_2_in_the_same_process(monkeypatch, rng, op_calls):
    """tensorflow_hub and other packages import tf_keras also for models of Keras 3."""
    monkeypatch.setitem(sys.modules, "tf_keras", types.ModuleType("tf_keras"))
    stock, _ = compare.pair("LSTM")
    x, _ = compare.values(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with accelerate():
            stock(x)
    assert op_calls == ["LayerRNN"]
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    with pytest.warns(UserWarning, match="Keras 3 only"), accelerate():
        stock(x)
    assert op_calls == ["LayerRNN"] * 2 and untouched()


@pytest.mark.parametrize("function", ["fit", "predict"])
def test_a_function_traced_before(function, rng, op_calls):
    x, y = rng.normal(size=(6, 4, 3)), rng.normal(size=(6, 2))
    model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(2)])
    model.compile("sgd", "mse")
    run = {
        "fit": lambda: model.fit(x, y, verbose=0),
        "predict": lambda: model.predict(x, verbose=0),
    }[function]
    run()
    with accelerate():
        run()
        assert op_calls == []
        (row,) = explain(model, None)
        assert row.path == "keras" and row.reason
        model.compile("sgd", "mse")
        assert explain(model, None)[0].path == "fused"
        run()
        assert "LayerRNN" in op_calls
    with accelerate():  # the function has the op
        assert explain(model, None)[0].path == "fused"


def test_models_without_old_functions(rng):
    """A model that runs eagerly, and those whose layers accelerate() leaves as they are."""
    x, y = rng.normal(size=(6, 4, 3)), rng.normal(size=(6, 2))

    def fitted(cls, **options):
        model = keras.Sequential([keras.Input((None, 3)), cls(2)])
        model.compile("sgd", "mse", **options)
        model.fit(x, y, verbose=0)
        return model

    models = [fitted(keras.layers.GRU, run_eagerly=True), fitted(tf_rnn_ops.keras.LSTM)]
    models += [fitted(lambda units: keras.layers.LSTM(units, use_cudnn=False))]
    with accelerate():
        assert [explain(model, None)[0].path for model in models] == ["fused", "fused", "keras"]


def test_its_line_goes_to_the_logger(caplog, capfd):
    """It is silent by default, and a program that asks for the level INFO gets one line where its handlers are."""
    with caplog.at_level(logging.WARNING), accelerate():
        pass
    assert not caplog.records
    with caplog.at_level(logging.INFO, "tf_rnn_ops"), accelerate(), accelerate():
        pass
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("tf_rnn_ops", logging.INFO)
    assert not logging.getLogger("tf_rnn_ops").handlers
    assert capfd.readouterr() == ("", "")
