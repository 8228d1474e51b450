"""Pickles of models with the layers of this package, in processes that have not imported it."""

import copy
import multiprocessing.reduction
import pickle

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras
from support import subproc
from tf_rnn_ops.keras import convert

CODE = """
import pickle, sys
import numpy as np
assert "tf_rnn_ops" not in sys.modules
things, x, expect = pickle.load(open(sys.argv[1], "rb"))
assert ("tf_rnn_ops" in sys.modules) == expect
np.savez(sys.argv[2], *[np.asarray(thing(x)) for thing in things])
"""


@keras.saving.register_keras_serializable("test_keras_pickle")
class Own(keras.Model):
    """A class that knows nothing of this package, given one of its layers."""

    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner

    def build(self, shape):
        self.inner.build(shape)

    def call(self, x):
        return self.inner(x)

    def get_config(self):
        inner = keras.saving.serialize_keras_object(self.inner)
        return {**super().get_config(), "inner": inner}

    @classmethod
    def from_config(cls, config):
        inner = keras.saving.deserialize_keras_object(config.pop("inner"))
        return cls(inner, **config)


@pytest.fixture
def x(rng):
    return rng.normal(size=(2, 5, 3)).astype("float32")


def things():
    """A model of each kind, and layers."""
    inputs = keras.Input((None, 3))
    ours = tf_rnn_ops.keras
    both = keras.layers.Bidirectional(ours.GRU(2))
    stack = ours.CudnnLSTM(2, num_layers=2)
    keras2 = keras.layers.LSTM(2, recurrent_activation=ours.hard_sigmoid_keras2)
    return [
        keras.Sequential([keras.Input((None, 3)), ours.LSTM(4)]),
        keras.Model(inputs, both(inputs)),
        keras.Sequential([keras.Input((None, 3)), stack]),
        keras.Sequential([keras.Input((None, 3)), keras2]),
        Own(ours.SimpleRNN(3)),
        keras.layers.Bidirectional(ours.LSTM(2)),
        keras.layers.RNN(ours.PeepholeLSTMCell(2)),
    ]


def load_elsewhere(objects, x, expect, tmp_path):
    """Their outputs in another process; `expect`: whether the pickle is to import the package."""
    with open(tmp_path / "pickle", "wb") as file:
        pickle.dump((objects, x, expect), file)
    done = subproc.run(
        ["-c", CODE, tmp_path / "pickle", tmp_path / "y.npz"], env=subproc.environment()
    )
    assert done.returncode == 0, done.stderr[-2000:]
    with np.load(tmp_path / "y.npz") as found:
        return list(found.values())


def test_a_process_that_has_not_imported_the_package(x, tmp_path):
    # Own belongs to a module that only this process has.
    objects = [thing for thing in things() if not isinstance(thing, Own)]
    want = [np.asarray(thing(x)) for thing in objects]
    for got, expected in zip(load_elsewhere(objects, x, True, tmp_path), want, strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-6)


def test_models_of_keras_do_not_need_the_package(x, tmp_path):
    model = convert(things()[0], to="keras")
    (got,) = load_elsewhere([model], x, False, tmp_path)
    np.testing.assert_allclose(got, model(x), atol=1e-6)


def test_all_ways_to_pickle(x):
    for thing in things():
        want = thing(x)
        data = pickle.dumps(thing)
        assert b"tf_rnn_ops.keras._patched.pickling" in data[:100]
        for again in (
            pickle.loads(data),
            copy.deepcopy(thing),
            pickle.loads(multiprocessing.reduction.ForkingPickler.dumps(thing)),
        ):
            assert type(again) is type(thing)
            np.testing.assert_array_equal(again(x), want)


def test_the_optimizer(x):
    model = things()[0]
    model.compile("adam", "mse", run_eagerly=True)
    model.fit(x, np.ones((2, 4)), verbose=0)
    again = pickle.loads(pickle.dumps(model))
    assert int(again.optimizer.iterations) == 1
