"""Steppers that share weights, and what calls of servers need: rows, idle rows, fewer steps, metadata."""

import concurrent.futures
import copy
import functools
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading

import keras
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn
from stepper.step_models import SEQUENCES, SIZE, chain, model_of, run, steps_of
from support.waiting import wait_for
from tf_rnn_ops import __main__ as commands
from tf_rnn_ops import stepper as steppers
from tf_rnn_ops._step import file_format

L = keras.layers


@pytest.fixture(scope="module")
def models():
    """Two models of equal layers, with other weights."""
    made = [
        chain(
            L.Conv1D(6, 3, padding="causal", name="conv"),
            L.LSTM(5, name="lstm", **SEQUENCES),
            L.GRU(4, name="gru", **SEQUENCES),
        )
        for _ in range(2)
    ]
    made[1].set_weights([0.5 * weight for weight in made[1].get_weights()])
    return made


@pytest.fixture(scope="module")
def paths(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    for k, model in enumerate(models):
        rnn.stepper(model).save(folder / f"{k}.rnn")
    return [folder / f"{k}.rnn" for k in range(2)]


@pytest.fixture
def stepper(paths):
    return steppers.load(paths[0])


@pytest.fixture
def x(models):
    return steps_of(models[0], batch=1)


def assert_equal(states, wants):
    assert list(states) == list(wants)
    for name, want in wants.items():
        np.testing.assert_array_equal(states[name], want)


def test_a_clone_has_states_of_its_own(stepper, paths, x):
    want = run(steppers.load(paths[0]), x)
    first = run(stepper, x[:, :3])
    clone = stepper.clone()
    assert_equal(clone.states, stepper.states)
    np.testing.assert_array_equal(np.concatenate([first, run(clone, x[:, 3:])], 1), want)
    np.testing.assert_array_equal(np.concatenate([first, run(stepper, x[:, 3:])], 1), want)
    clone.reset()
    del stepper
    gc.collect()
    np.testing.assert_array_equal(run(clone.clone(), x), want)
    assert (clone.inputs, clone.time, repr(clone)[:8]) == (clone.inputs, 1, "<Stepper")


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_only_clones_share_weights(stepper, paths, x, copied):
    run(stepper, x)
    clone = stepper.clone()
    other = copied(clone)
    assert_equal(other.states, clone.states)
    stepper.update(paths[1])
    assert clone.fingerprint == stepper.fingerprint == steppers.load(paths[1]).fingerprint
    assert other.fingerprint == steppers.load(paths[0]).fingerprint != clone.fingerprint
    assert_equal(copied(clone).states, clone.states)
    new = steppers.load(paths[1])
    for one, states in ((clone, clone.states), (stepper, stepper.states)):
        new.states = states
        np.testing.assert_array_equal(one(x[:, :1]), new(x[:, :1]))
    old = steppers.load(paths[0])
    old.states = other.states
    np.testing.assert_array_equal(other(x[:, :1]), old(x[:, :1]))


def test_a_new_stream_costs_its_states():
    """By a model with 4 MB of weights, of which a copy of each stream would not fit the limit."""
    stepper = rnn.stepper(chain(L.LSTM(500, **SEQUENCES)))
    x = np.zeros((1, 1, SIZE), np.float32)
    before = memory()
    clones = [stepper.clone() for _ in range(1000)]
    for clone in clones:
        clone(x)
    grown = memory() - before
    states = sum(array.nbytes for array in stepper.states.values())
    assert states == 4000
    assert grown / len(clones) < states + 2000


def test_the_memory_of_closed_streams_comes_back():
    stepper = rnn.stepper(chain(L.LSTM(500, **SEQUENCES)))
    x = np.zeros((1, 1, SIZE), np.float32)
    before = memory()
    for _ in range(2):
        clones = []
        while memory() - before < 2e7:  # what other tests have freed is used first
            clones += [stepper.clone() for _ in range(2000)]
            for clone in clones[-2000:]:
                clone(x)
        assert len(clones) < 30000
        del clone
        clones.clear()
        assert memory() - before < 1e7


def memory():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_closed_stepper(stepper, paths, x):
    clone = stepper.clone()
    with stepper:
        stepper(x[:, :1])
    stepper.close()  # again
    for use in (
        lambda: stepper(x[:, :1]),
        lambda: stepper(x[:, :1], last_step=True),
        lambda: stepper.states,
        lambda: setattr(stepper, "states", {}),
        lambda: stepper.get_row(0),
        lambda: stepper.reset(),
        lambda: stepper.reset(0),
        lambda: stepper.clone(),
        lambda: stepper.update(paths[1]),
        lambda: copy.copy(stepper),
        lambda: stepper.fingerprint,
        lambda: stepper.save("never.rnn"),
        lambda: clone.update(stepper),
        lambda: stepper.__enter__(),
    ):
        with pytest.raises(ValueError, match="The stepper is closed"):
            use()
    np.testing.assert_array_equal(run(clone, x), run(steppers.load(paths[0]), x))


def test_a_stepper_in_a_call_is_neither_cloned_nor_closed(paths):
    stepper = steppers.load(paths[0], batch_size=256, time=2000)
    x, out = np.zeros((256, 2000, SIZE), np.float32), np.empty((256, 2000, 4), np.float32)
    rejected = set()

    def reject(name):
        try:
            getattr(stepper, name)()
        except RuntimeError as error:
            assert "Another thread uses the stepper" in str(error)
            rejected.add(name)

    def try_both():
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            called = pool.submit(stepper, x, out=out)
            while concurrent.futures.wait([called], timeout=0.001).not_done and len(rejected) < 2:
                for name in {"clone", "close"} - rejected:
                    if name == "clone" or "clone" in rejected:
                        reject(name)
        called.result()
        return len(rejected) == 2

    assert wait_for(try_both, pause=0)


def test_an_update_by_another_model(stepper, x):
    clone, want = stepper.clone(), run(stepper.clone(), x)
    for other in (chain(L.GRU(4, **SEQUENCES)), chain(L.LSTM(5, **SEQUENCES))):
        with pytest.raises(ValueError, match="must have the"):
            clone.update(other)
    np.testing.assert_array_equal(run(stepper, x), want)


def test_an_update_keeps_the_kinds_of_states():
    """All three states have one shape, and other names in both models."""
    lstm, gru = (functools.partial(layer, 4, **SEQUENCES) for layer in (L.LSTM, L.GRU))
    stepper = rnn.stepper(chain(gru(name="gru"), lstm(name="lstm")))
    with pytest.raises(ValueError, match="must have the states 'gru_h'.* but it has 'lstm_1_h'"):
        stepper.update(chain(lstm(name="lstm_1"), gru(name="gru_1")))
    stepper.update(chain(gru(name="gru_1"), lstm(name="lstm_1")))


AT_THE_END = """
import sys, threading, time
import numpy as np
from tf_rnn_ops import stepper as steppers

path, what = sys.argv[1:]
long = steppers.load(path, batch_size=8, time=200)
x = np.zeros((8, 200, 3), "float32")
content = open(path, "rb").read()


def work():
    while True:
        long(x) if what == "call" else long.update(content)


long(x)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""


@pytest.mark.parametrize("what", ["call", "update"])
def test_a_process_may_end_during(paths, tmp_path, what):
    (tmp_path / "end.py").write_text(AT_THE_END)
    for _ in range(3):
        command = [sys.executable, tmp_path / "end.py", paths[0], what]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_streams_in_threads_during_updates():
    """A model that counts its steps times a factor: none is lost, and no factor comes back."""
    model = model_of(lambda x: L.SimpleRNN(1, activation=None, use_bias=False, **SEQUENCES)(x), 1)
    model.set_weights([np.ones((1, 1)), np.ones((1, 1))])
    stepper = rnn.stepper(
        keras.Sequential([model, L.Dense(1, use_bias=False, kernel_initializer="ones")]), time=100
    )
    content = stepper.__getstate__()["content"]
    graph, one = file_format.graph(content), np.ones((1, 1), np.float32)
    names = [name for node in graph["nodes"] for name in node["weights"].values()]
    dense = graph["nodes"][-1]["weights"]["kernel"]
    files = [
        file_format.content(graph, {name: one * (k if name == dense else 1) for name in names})
        for k in range(2, 40)
    ]
    x, ends = np.ones((1, 100, 1), np.float32), threading.Event()

    def stream(clone):
        calls, factor = 0, 1.0
        while not ends.is_set():
            calls += 1
            last = clone(x, last_step=calls % 2 == 0)
            last = last.reshape(-1)[-1] / (100 * calls)
            assert last >= factor and last == int(last)
            factor = last
        return calls, factor

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        streams = [pool.submit(stream, stepper.clone()) for _ in range(4)]
        try:
            for file in files:
                stepper.update(file)
                assert stepper.clone()(x)[0, 0, 0] == files.index(file) + 2
        finally:
            ends.set()
        assert all(done.result()[0] > 0 for done in streams)


def test_a_call_does_not_wait_for_an_update_that_a_fork_lost(paths, x):
    stepper = steppers.load(paths[0])
    ends = threading.Event()

    def update():
        while not ends.is_set():
            stepper.update(paths[0])

    updater = threading.Thread(target=update)
    updater.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(5)  # ends a process that waits
                stepper.clone()(x[:, :1])
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        ends.set()
        updater.join()


def test_the_states_of_a_row(stepper, paths, x):
    many = steppers.load(paths[0], batch_size=3)
    batch = np.concatenate([x, 2 * x, 3 * x])
    run(many, batch[:, :3])
    stepper.states = many.get_row(1)
    np.testing.assert_allclose(stepper(batch[1:2, 3:4]), many(batch[:, 3:4])[1:2], atol=1e-6)
    before = many.states
    many.set_row(np.int64(2), stepper.states)
    for name, state in many.states.items():
        np.testing.assert_array_equal(state[:2], before[name][:2])
        np.testing.assert_array_equal(state[2:], stepper.states[name])
    many.set_row(0, {"lstm_h": np.ones((1, 5))})  # of float64
    assert (many.states["lstm_h"][0] == 1).all()
    for row in (3, -1, "a", [0, 1], 0.5, 1.0, True, [0]):
        with pytest.raises(ValueError, match="row"):
            many.get_row(row)
        with pytest.raises(ValueError, match="row"):
            many.set_row(row, {})
    for states in ([1], {"h": 1}, {"lstm_h": np.ones((3, 5))}):
        with pytest.raises(ValueError, match="states|must"):
            many.set_row(0, states)


def test_idle_rows(paths, x):
    many, other = (steppers.load(paths[0], batch_size=3) for _ in range(2))
    batch = np.concatenate([x, 2 * x, 3 * x])
    for idle in ([1], 1, np.array([False, True, False]), (number for number in [1])):
        before = many.states
        got, want = many(batch[:, :1], idle=idle), other(batch[:, :1])
        np.testing.assert_array_equal(got[[0, 2]], want[[0, 2]])
        assert not got[1].any()
        for name, state in many.states.items():
            np.testing.assert_array_equal(state[1], before[name][1])
            np.testing.assert_array_equal(state[[0, 2]], other.states[name][[0, 2]])
    before = many.states
    assert many(batch[:, :1], idle=[])[1].any()
    assert (many.states["gru_h"][1] != before["gru_h"][1]).all()
    for rows in ([3], "a", [0.5], True, [True, False, 1], [True, 2]):
        with pytest.raises(ValueError, match="idle"):
            many(batch[:, :1], idle=rows)


@pytest.mark.parametrize("last_step", [False, True])
def test_a_shorter_block(paths, x, last_step):
    want = run(steppers.load(paths[0]), x)
    stepper = steppers.load(paths[0], time=4)
    got, begin = [], 0
    for steps in (4, 1, 1):
        out = np.empty((1, 4) if last_step else (1, steps, 4), np.float32)
        part = x[:, begin : begin + steps]
        begin += steps
        result = stepper(part, out=out, last_step=last_step)
        assert result is out
        got.append(out[:, None] if last_step else out)
    ends = [3, 4, 5] if last_step else slice(None)
    np.testing.assert_allclose(np.concatenate(got, 1), want[:, ends], atol=1e-6)
    assert stepper(x[:, :2].astype(np.float64), last_step=last_step).shape[-1] == 4
    before = stepper.states
    for wrong in (x[:, :5], x[:, :0], x[0, :2], x[:, :2, :1]):
        with pytest.raises(ValueError, match="must have the shape"):
            stepper(wrong, last_step=last_step)
    with pytest.raises(ValueError, match="out must be"):
        stepper(x[:, :2], out=np.empty((1, 4, 4), np.float32), last_step=last_step)
    for wrong in ("0", 0.5, np.float32(0.3), 2, None):
        with pytest.raises(ValueError, match="last_step must be True or False"):
            stepper(x[:, :4], last_step=wrong)
    assert_equal(stepper.states, before)


def test_blocks_of_a_file_that_fixes_the_steps(models, tmp_path, x):
    rnn.export(models[0], str(tmp_path / "fixed.rnn"), streaming=True, batch_size=1, time=4)
    stepper = steppers.load(tmp_path / "fixed.rnn")
    assert stepper(x[:, :4], last_step=True).shape == (1, 4)
    with pytest.raises(ValueError, match="time must be 4, which the file fixes"):
        stepper(x[:, :3])


def test_metadata_and_fingerprints(models, paths, tmp_path, capsys):
    stepper = steppers.load(paths[0])
    assert stepper.metadata == {}
    assert len(stepper.fingerprint) == 64
    own = {"language": "ja", 'a "key"': "line\nline"}
    stepper.save(tmp_path / "own.rnn", metadata=own)
    loaded = steppers.load(tmp_path / "own.rnn")
    assert (loaded.metadata, loaded.fingerprint) == (own, stepper.fingerprint)
    loaded.save(tmp_path / "again.rnn")
    assert steppers.load(tmp_path / "again.rnn").metadata == own
    assert pickle.loads(pickle.dumps(loaded)).metadata == own
    clone = stepper.clone()
    stepper.update(tmp_path / "own.rnn")
    assert clone.metadata == own
    # The same weights give the same fingerprint, and others another one.
    again, other = (rnn.stepper(model, time=2).fingerprint for model in models)
    assert again == stepper.fingerprint != other
    for wrong in ({"a": 1}, {1: "a"}, "a", ["a"]):
        with pytest.raises(ValueError, match="metadata must be a dict of texts"):
            stepper.save(tmp_path / "wrong.rnn", metadata=wrong)
    for text in ("a\0b", "\ud800", "a" * 2**24):
        with pytest.raises(ValueError, match="metadata must"):
            stepper.save(tmp_path / "wrong.rnn", metadata={"note": text})
    assert not (tmp_path / "wrong.rnn").exists()
    assert commands.main(["info", str(tmp_path / "own.rnn")]) == 0
    shown = capsys.readouterr().out
    assert stepper.fingerprint in shown and "language" in shown


def test_a_file_of_another_version(paths, tmp_path):
    content = paths[0].read_bytes().replace(b'"version": "1"', b'"version": "3"', 1)
    with pytest.raises(
        ValueError, match="version '3' .* reads versions '1' and '2': export the model again"
    ):
        steppers.Stepper(content)
