"""The object: its arguments, states, files, copies and threads."""

import concurrent.futures
import copy
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import keras
import ml_dtypes
import numpy as np
import pytest

import tf_rnn_ops.keras as rnn
from stepper.step_models import SEQUENCES, SIZE, chain, run, steps_of
from support.busy_threads import busy_threads
from support.waiting import wait_for
from tf_rnn_ops import stepper as steppers
from tf_rnn_ops._step import file_format
from tf_rnn_ops.keras._export.stepper import stepper as stepper_module

L = keras.layers


@pytest.fixture(scope="module")
def model():
    return chain(L.LSTM(5, name="lstm", **SEQUENCES), L.GRU(4, name="gru", **SEQUENCES))


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("steppers") / "model.rnn"
    rnn.stepper(model).save(path)
    return path


@pytest.fixture
def stepper(path):
    return steppers.load(path, batch_size=2)


@pytest.fixture
def x(model):
    return steps_of(model)


def test_reset_of_all_and_of_some_rows(stepper, model, x):
    first = run(stepper, x)
    stepper.reset()
    np.testing.assert_array_equal(run(stepper, x), first)
    stepper.reset([1])
    again = run(stepper, x)
    np.testing.assert_array_equal(again[1], first[1])
    assert np.abs(again[0] - first[0]).max() > 1e-3
    before = stepper.states
    stepper.reset([])
    assert all((before[name] == state).all() for name, state in stepper.states.items())
    stepper.reset(np.array([True, False]))
    assert not any(state[0].any() for state in stepper.states.values())
    assert all((before[name][1] == state[1]).all() for name, state in stepper.states.items())
    run(stepper, x)
    stepper.reset([1, 0])
    assert not any(state.any() for state in stepper.states.values())


def test_states_are_copies_that_can_be_set(stepper, path, x):
    run(stepper, x[:, :3])
    states = stepper.states
    assert list(states) == ["lstm_h", "lstm_c", "gru_h"] and states["gru_h"].shape == (2, 4)
    rest = run(stepper, x[:, 3:])
    other = steppers.load(path, batch_size=2)
    other.states = states
    np.testing.assert_array_equal(run(other, x[:, 3:]), rest)
    other.states = {"gru_h": np.ones((2, 4))}  # the others stay
    assert (other.states["gru_h"] == 1).all() and not (other.states["lstm_c"] == 0).all()
    other.states |= {"gru_h": np.zeros((2, 4))}
    assert (other.states["gru_h"] == 0).all() and not (other.states["lstm_c"] == 0).all()
    kept = changed = other.states
    changed |= {"gru_h": np.ones((2, 4))}
    assert (kept["gru_h"] == 0).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda states: states.__setitem__("gru_h", np.ones((2, 4))),
        lambda states: states.update(gru_h=np.ones((2, 4))),
        lambda states: states.pop("gru_h"),
        lambda states: states["gru_h"].__setitem__(0, 1.0),
        lambda states: states["gru_h"].__iadd__(1.0),
    ],
)
def test_a_change_of_the_copied_states_is_an_error(stepper, change):
    with pytest.raises((TypeError, ValueError), match="states|read-only"):
        change(stepper.states)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_stored_states_are_those_of_their_owner(stepper, x, copied, tmp_path):
    run(stepper, x)
    states = stepper.states
    stored = copied(states)
    stored["gru_h"] += 1
    np.testing.assert_array_equal(stored["gru_h"], states["gru_h"] + 1)
    np.savez(tmp_path / "states.npz", **states)
    stepper.reset()
    with np.load(tmp_path / "states.npz") as loaded:
        stepper.states = loaded
    assert all((states[name] == state).all() for name, state in stepper.states.items())


def test_states_of_a_model_that_was_built_again(stepper, x):
    """Keras numbers the names of the layers in another way then."""
    run(stepper, x)
    states = stepper.states
    renumbered = {name.replace("_", "_1_"): state for name, state in states.items()}
    stepper.reset()
    stepper.states = renumbered
    assert all((states[name] == state).all() for name, state in stepper.states.items())
    h, c, last = renumbered
    for wrong in (
        {h: renumbered[h], c: renumbered[c]},
        {**renumbered, h: np.zeros((2, 6))},
        {c: renumbered[c], h: renumbered[h], last: renumbered[last]},  # as sorted names
        {"lstm_h": renumbered[h], c: renumbered[c], last: renumbered[last]},
    ):
        with pytest.raises(ValueError, match="states .* order"):
            stepper.states = wrong
    assert all((states[name] == state).all() for name, state in stepper.states.items())


def test_a_file_has_the_same_results(stepper, model, x, tmp_path):
    path = tmp_path / "model.rnn"
    stepper.save(path)
    want = run(stepper, x)
    np.testing.assert_allclose(want, model(x), atol=2e-6)
    np.testing.assert_array_equal(run(steppers.load(path, batch_size=2), x), want)
    by_three = run(steppers.load(path, batch_size=2, time=3), x)
    np.testing.assert_allclose(by_three, want, atol=2e-6)
    with pytest.raises(FileExistsError):
        stepper.save(path)
    stepper.save(path, metadata={"note": "again"}, overwrite=True)
    assert steppers.load(path).metadata == {"note": "again"}
    assert [one.name for one in tmp_path.iterdir()] == ["model.rnn"]
    with pytest.raises(FileExistsError, match="must be a file to be replaced, but it is a folder"):
        stepper.save(tmp_path, overwrite=True)
    report = rnn.export(model, tmp_path / "e.rnn", streaming=True, time=2, print_fn=None)
    assert [layer.target_op for layer in report.layers] == ["rnn", "rnn"]
    assert report.difference < 1e-5 and report.format == "rnn"
    assert steppers.load(tmp_path / "e.rnn").time == 2
    with pytest.raises(ValueError, match="known sizes"):  # of a window
        rnn.export(model, tmp_path / "f.rnn", print_fn=None)


def test_weights_are_a_snapshot_until_update(x):
    model = chain(L.GRU(4, **SEQUENCES))
    stepper = rnn.stepper(model, batch_size=2)
    want = run(stepper, x)
    model.set_weights([weight * 0.5 for weight in model.get_weights()])
    stepper.reset()
    np.testing.assert_array_equal(run(stepper, x), want)
    stepper.reset()
    stepper.update(model)
    np.testing.assert_allclose(run(stepper, x), model(x), atol=2e-6)
    before = stepper.states
    stepper.update(model)
    np.testing.assert_array_equal(
        stepper.states["gru_h" if "gru_h" in before else next(iter(before))],
        next(iter(before.values())),
    )
    with pytest.raises(ValueError, match="must have the"):
        stepper.update(chain(L.GRU(5, **SEQUENCES)))
    # The names that Keras gives the layers of another model differ. Those of the stepper stay.
    stepper.update(other := chain(L.GRU(4, **SEQUENCES)))
    assert f"{other.layers[-1].name}_h" not in before
    np.testing.assert_equal(stepper.states, before)
    stepper.reset()
    np.testing.assert_allclose(run(stepper, x), other(x), atol=2e-6)


def test_an_update_keeps_the_order_of_the_inputs():
    a, b = (keras.Input((None, 3), name=name) for name in "ab")
    y = L.GRU(4, name="gru", **SEQUENCES)(a - b)
    stepper = rnn.stepper(keras.Model([a, b], y))
    with pytest.raises(ValueError, match="must have the inputs .*'a'.*'b'.* it has .*'b'.*'a'"):
        stepper.update(keras.Model([b, a], y))


RENAMED = (["y"], ["scores"], ["a", "b", "c"])


def test_an_update_by_a_file_keeps_the_names_also_in_copies(stepper, path, x, tmp_path):
    want = run(stepper, x)
    described = repr(stepper)
    renamed = file_format.with_names(path.read_bytes(), *RENAMED)
    other = steppers.Stepper(renamed)
    assert list(other.states) == RENAMED[2] and other.inputs[0].name == "y"
    (tmp_path / "renamed.rnn").write_bytes(renamed)
    for source in (renamed, tmp_path / "renamed.rnn", str(tmp_path / "renamed.rnn"), other):
        stepper.update(source)
        assert repr(stepper) == described
    stepper.save(tmp_path / "saved.rnn")
    assert (tmp_path / "saved.rnn").read_bytes() == path.read_bytes()
    for copied in (stepper, copy.copy(stepper), steppers.load(tmp_path / "saved.rnn", 2)):
        assert repr(copied) == described
        copied.reset()
        np.testing.assert_array_equal(run(copied, x), want)
    with pytest.raises(ValueError, match="'x'"):
        stepper(x)


def test_names_of_inputs_that_are_those_of_other_values(stepper, path, x):
    graph = file_format.with_names(path.read_bytes(), ["lstm"], ["gru"], ["x", "y", "z"])
    other = steppers.Stepper(graph, 2)
    assert [other.inputs[0].name, other.outputs[0].name, *other.states] == [
        *("lstm", "gru"),
        *("x", "y", "z"),
    ]
    np.testing.assert_array_equal(run(other, x), run(stepper, x))


def test_an_update_by_another_file_changes_nothing(stepper, path, x, tmp_path):
    content = path.read_bytes()
    want = run(stepper, x)
    swapped = file_format.with_names(content, ["x"], ["output_0"], ["lstm_c", "lstm_h", "gru_h"])
    fixed = content.replace(b'\\"time\\": null', b'\\"time\\":    2')
    (tmp_path / "cut.rnn").write_bytes(content[:-4])
    before = stepper.states
    for source, message in (
        (swapped, "states .*lstm_h.*lstm_c.*it has.*lstm_c.*lstm_h"),
        (fixed, "time must be 2"),
        (tmp_path / "cut.rnn", "cut.rnn.*export"),
        (b"", "export"),
    ):
        with pytest.raises(ValueError, match=message):
            stepper.update(source)
    with pytest.raises(OSError):
        stepper.update(tmp_path / "absent.rnn")
    np.testing.assert_equal(stepper.states, before)
    stepper.reset()
    np.testing.assert_array_equal(run(stepper, x), want)


def test_updates_during_calls():
    """A model that counts its steps: none is lost, and neither a call nor an update raises an error."""
    model = keras.Sequential([keras.Input((None, 1), name="x"), L.SimpleRNN(1, activation=None)])
    model.set_weights([np.ones((1, 1)), np.ones((1, 1)), np.zeros(1)])
    stepper = rnn.stepper(model)
    content = stepper.__getstate__()["content"]
    sources = (content, file_format.with_names(content, ["y"], ["z"], ["count"]))
    one, calls, ends = np.ones((1, 1, 1), np.float32), 0, threading.Event()

    def call():
        nonlocal calls
        while not ends.is_set():
            stepper(one)
            calls += 1

    def update(first):
        for k in range(40):
            stepper.update(sources[(first + k) % 2])
            assert stepper._current_content() == content

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        caller = pool.submit(call)
        updates = [pool.submit(update, first) for first in range(2)]
        try:
            for done in updates:
                done.result()
        finally:
            ends.set()
        caller.result()
    assert calls < 2**24  # float32 counts to this number
    assert calls == next(iter(stepper.states.values())).item()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_have_the_states(stepper, x, copied):
    run(stepper, x[:, :3])
    other = copied(stepper)
    np.testing.assert_array_equal(run(stepper, x[:, 3:]), run(other, x[:, 3:]))


def test_inputs_of_other_kinds_are_converted(stepper, x):
    want = stepper(x[:, :1])
    wide = np.zeros((2, 2, SIZE), np.float32)
    wide[:, :1] = x[:, :1]
    frozen = x[:, :1].copy()
    frozen.flags.writeable = False
    shifted = np.frombuffer(b"\0" + x[:, :1].tobytes(), np.float32, offset=1).reshape(2, 1, SIZE)
    for given in (
        wide[:, :1],
        np.asfortranarray(x[:, :1]),
        x[:, :1].astype(np.float64),
        x[:, :1].astype(">f4"),
        [x[:, :1]],
        {"x": x[:, :1]},
        keras.ops.convert_to_tensor(x[:, :1]),
        frozen,
        shifted,
    ):
        stepper.reset()
        np.testing.assert_array_equal(stepper(given), want)
    stepper.reset()
    out = np.empty((2, 1, 4), np.float32)
    assert stepper(x[:, :1], out=out) is out
    np.testing.assert_array_equal(out, want)
    stepper.reset()
    assert stepper({"x": x[:, :1]}, out=[out]) is out


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_inputs_of_small_floats(stepper, x, dtype):
    small = x[:, :1].astype(dtype)
    want = stepper(small.astype(np.float32))
    stepper.reset()
    np.testing.assert_array_equal(stepper(small), want)


@pytest.mark.parametrize("name", ["inputs", "outputs", "batch_size", "time", "threads", "states"])
def test_sizes_and_descriptions_are_read_only(stepper, name):
    with pytest.raises((AttributeError, ValueError), match=name):
        setattr(stepper, name, 5)
    assert isinstance(stepper.inputs, tuple) and isinstance(stepper.outputs, tuple)


def test_errors_name_what_the_caller_gave(stepper, x):
    good, part = np.empty((2, 1, 4), np.float32), x[:, :1]
    one = copy.copy(stepper).__getstate__()["content"]
    for call, message in (
        (lambda: stepper([part[0]]), r"input 'x' .*\[2, 1, 3\].* is \[1, 3\]"),
        (lambda: stepper(part, out=[good[0]]), r"out .*\[2, 1, 4\].*array of the shape \[1, 4\]"),
        (lambda: stepper(part, out=[[[1, 2], [3]]]), "out .*'output_0'"),
        (lambda: stepper(part.tolist()), "inputs .*list .* 2 items.*numpy"),
        (lambda: stepper(part * np.float64(1e39)), r"'x' must fit float32.*e\+3"),
        (lambda: stepper(x[:, :3]), r"2 streams.*batch_size=2 and time=3"),
        (lambda: steppers.Stepper(one)(x[0, 0]), r"\[1, 1, 3\], one step of one stream"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_not_a_number_stays_in_its_row(stepper, x):
    want = run(stepper, x)
    stepper.reset()
    x[0, 2] = np.nan
    got = run(stepper, x)
    np.testing.assert_array_equal(got[1], want[1])
    assert np.isnan(got[0, 2:]).all() and not np.isnan(got[0, :2]).any()


def test_wrong_arrays_are_errors_and_change_no_state(stepper, x):
    stepper(x[:, :1])
    before = stepper.states
    good = np.empty((2, 1, 4), np.float32)
    frozen = good.copy()
    frozen.flags.writeable = False
    shifted = np.zeros(4 * good.size + 1, np.uint8)[1:].view(np.float32).reshape(good.shape)
    for inputs, out in (
        (x[:, :2], None),
        (x[:1, :1], None),
        ([[[1, 2, 3], [1]]], None),
        (x[:, :1, :2], None),
        (x[:, 0], None),
        (x[:, :1].astype(np.complex64), None),
        (np.full((2, 1, SIZE), "a"), None),
        (np.full((2, 1, SIZE), None), None),
        ({"y": x[:, :1]}, None),
        ({}, None),
        ([x[:, :1], x[:, :1]], None),
        (None, None),
        (x[:, :1], good.astype(np.float64)),
        (x[:, :1], good[:, :, :3]),
        (x[:, :1], frozen),
        (x[:, :1], shifted),
        (x[:, :1], np.empty((2, 1, 8), np.float32)[:, :, ::2]),
        (x[:, :1], [good, good]),
        (x[:, :1], good.tolist()),
        (x[:, :1].tolist(), None),
    ):
        with pytest.raises(ValueError, match="must"):
            stepper(inputs, out=out)
    assert all((before[name] == state).all() for name, state in stepper.states.items())


def test_memory_that_overlaps_is_an_error():
    stepper = rnn.stepper(chain(L.GRU(SIZE, **SEQUENCES)))
    array = np.zeros((1, 1, SIZE), np.float32)
    with pytest.raises(ValueError, match="overlap"):
        stepper(array, out=array)


@pytest.mark.parametrize("name", ["batch_size", "time", "threads"])
@pytest.mark.parametrize("number", [0, -1, 1.5, True, "1", 2**40])
def test_wrong_numbers(model, path, name, number, monkeypatch):
    monkeypatch.setattr(stepper_module, "_content", None)  # they are found before any work
    with pytest.raises(ValueError, match=name):
        rnn.stepper(model, **{name: number})
    with pytest.raises(ValueError, match=name):
        steppers.load(path, **{name: number})


def test_sizes_that_fit_no_memory(path):
    for batch_size, steps in ((2**30, 64), (2**30, 2**30)):
        with pytest.raises((ValueError, MemoryError), match="large|memory"):
            steppers.load(path, batch_size, steps)


def test_sizes_of_the_model_are_those_of_its_stepper():
    x = keras.Input(batch_shape=(3, 2, SIZE))
    stepper = rnn.stepper(keras.Model(x, L.GRU(2)(x)))
    assert (stepper.batch_size, stepper.time) == (3, 2)


def test_wrong_states_and_rows(stepper):
    for states in ({"h": np.zeros((2, 5))}, {"lstm_h": np.zeros((1, 5))}, {"lstm_h": "a"}, [1]):
        with pytest.raises(ValueError, match="must|states"):
            stepper.states = states
    stepper.reset(np.array(1))
    # The last ones have rows of the batch, in a form that has other meanings.
    for rows in (
        [2],
        [-1],
        [0.5],
        ["a"],
        2,
        np.uint64(2**63),
        "",
        b"\0",
        [[0], [1, 0]],
        [[0, 1]],
        {0: 1},
        True,
        [True],
        [[True, False]],
    ):
        with pytest.raises(ValueError, match="rows"):
            stepper.reset(rows)


def test_wrong_models_and_files(tmp_path):
    with pytest.raises(TypeError, match="model"):
        rnn.stepper("model")
    with pytest.raises(TypeError, match="model"):
        rnn.stepper(chain(L.GRU(2))).update(None)
    with pytest.raises(ValueError, match="built"):
        rnn.stepper(keras.Sequential([L.LSTM(2)]))
    with pytest.raises(ValueError, match="cannot stream"):
        rnn.stepper(keras.Sequential([keras.Input((None, 2)), L.Dense(2)]))
    with pytest.raises(OSError):
        steppers.load(tmp_path / "absent.rnn")
    (tmp_path / "other.rnn").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(ValueError, match="export"):
        steppers.load(tmp_path / "other.rnn")


def test_steppers_run_side_by_side(path, x):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        made = [steppers.load(path, batch_size=2) for _ in range(4)]
        results = list(pool.map(lambda stepper: run(stepper, x), made))
        assert all((result == results[0]).all() for result in results)


@pytest.fixture
def long_call(path):
    """A stepper, and the arguments of a call that takes tenths of a second."""
    stepper = steppers.load(path, batch_size=256, time=2000)
    x = np.zeros((256, 2000, SIZE), np.float32)
    return stepper, x, np.empty((256, 2000, 4), np.float32)


def test_one_stepper_has_one_thread(long_call):
    stepper, x, out = long_call
    rejected = threading.Event()

    def call(out):
        try:
            stepper(x, out=out)
        except RuntimeError as error:
            assert "thread" in str(error)
            rejected.set()

    def call_both():
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(call, (out, np.empty_like(out))))
        return rejected.is_set()

    assert wait_for(call_both, pause=0)


@pytest.fixture
def no_switches():
    """A thread loses Python's lock only where it releases it."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # seconds
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("no_switches")
def test_a_short_call_keeps_the_lock_of_python(path):
    # About 15 us, in which a thread that waits for the lock would take it.
    stepper = steppers.load(path, time=100)
    x, out = np.zeros((1, 100, SIZE), np.float32), np.empty((1, 100, 4), np.float32)
    turns, ends = 0, threading.Event()

    def count():
        nonlocal turns
        while not ends.is_set():
            turns += 1
            time.sleep(0)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(count)
        try:
            # The first calls are measured.
            for _ in range(20):
                stepper(x, out=out)
            assert wait_for(lambda: turns > 0)
            before = turns
            for _ in range(1000):
                stepper(x, out=out)
            after = turns
        finally:
            ends.set()
    assert after == before


@pytest.mark.usefixtures("no_switches")
def test_other_threads_of_python_run_during_a_long_call(long_call):
    stepper, x, out = long_call
    stepper(x, out=out)

    def turns_during_a_call():
        """How often this thread ran while another one was in a call."""
        turns = 0

        def call():
            before = turns
            stepper(x, out=out)
            return turns - before

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            called = pool.submit(call)
            while concurrent.futures.wait([called], timeout=0.001).not_done:
                turns += 1
        return called.result()

    assert wait_for(lambda: turns_during_a_call() > 10)


def test_threads_do_not_change_the_result():
    model = chain(L.LSTM(300, **SEQUENCES), L.Dense(600))
    x = steps_of(model, batch=16, time=8)
    content = rnn.stepper(model).__getstate__()["content"]
    made = [steppers.Stepper(content, 16, 8, threads=n) for n in (1, 2, 4)]
    results = [stepper(x) for stepper in made]
    assert all((result == results[0]).all() for result in results)
    if len(os.sched_getaffinity(0)) > 1:
        for stepper, several in zip(made, (False, True, True)):
            # A single call takes too little time.
            def calls(stepper=stepper):
                for _ in range(100):
                    stepper(x)

            assert wait_for(lambda: (busy_threads(calls) > 1) == several)


def test_an_update_without_tensorflow(path):
    code = (
        "import sys\n"
        "sys.modules['tensorflow'] = sys.modules['keras'] = None\n"
        "from tf_rnn_ops import stepper\n"
        "s = stepper.load(sys.argv[1])\n"
        "for source in (sys.argv[1], open(sys.argv[1], 'rb').read(), stepper.load(sys.argv[1])):\n"
        "    s.update(source)\n"
        "try:\n"
        "    s.update(5)\n"
        "except TypeError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "model" in done.stdout


# The instruction sets of the kernels, with the flags that they need in /proc/cpuinfo.
ISAS = {
    "baseline": set(),
    "avx2": {"avx2", "fma", "f16c"},
    "avx512": {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"},
}


def best_isa():
    flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    return [isa for isa, needed in ISAS.items() if needed <= flags][-1]


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_set_without_tensorflow(stepper, path, x, tmp_path, isa):
    np.save(tmp_path / "x.npy", x)
    code = (
        "import sys, numpy as np\n"
        "sys.modules['tensorflow'] = sys.modules['keras'] = None\n"
        "from tf_rnn_ops import stepper\n"
        "s, x = stepper.load(sys.argv[1], batch_size=2), np.load('x.npy')\n"
        "np.save('y.npy', np.concatenate([s(x[:, t:t + 1]) for t in range(x.shape[1])], 1))\n"
        "print(stepper.isa())\n"
    )
    environment = {**os.environ, "TF_RNN_OPS_CPU_ISA": isa}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == min(isa, best_isa(), key=list(ISAS).index)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), run(stepper, x), atol=2e-6)


def test_a_forked_process_goes_on(stepper, x):
    run(stepper, x[:, :2])
    reader, writer = os.pipe()
    with stepper._model.turn():  # as in an update of another thread
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # ends a process that waits forever
            os.write(writer, copy.copy(stepper)(x[:, 2:3]).tobytes())
            os._exit(0)
    os.waitpid(child, 0)
    np.testing.assert_array_equal(
        np.frombuffer(os.read(reader, 1000), np.float32).reshape(2, 1, 4), stepper(x[:, 2:3])
    )


def test_outputs_of_one_name_are_an_error():
    graph = {
        "batch_size": None, "time": None, "states": [], "nodes": [],
        "inputs": [{"name": "x", "dtype": "float32", "has_time": True, "dims": [3]}],
        "outputs": [{"name": "y", "value": "x"}] * 2,
    }  # fmt: skip
    with pytest.raises(ValueError, match="two outputs are named 'y'"):
        steppers.Stepper(file_format.content(graph, {}))


def test_tokens_that_are_no_integers():
    tokens = keras.Input((None,))  # float32, as an Input is if nothing else is asked for
    stepper = rnn.stepper(keras.Model(tokens, L.GRU(2)(L.Embedding(5, 3)(tokens))))
    stepper(np.array([[4.0]]))
    for token in (0.5, np.nan):
        with pytest.raises(ValueError, match=f"must be integers, but it has {token}"):
            stepper(np.array([[token]]))
    with pytest.raises(ValueError, match="must fit int32"):
        stepper(np.array([[np.inf]]))


def test_content_that_is_no_bytes():
    for content in ("text", None, 5, [1, 2]):
        with pytest.raises(ValueError, match=f"content must be .*{type(content).__name__}"):
            steppers.Stepper(content)
