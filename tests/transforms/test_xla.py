"""The ops compiled by XLA: the bits of the same calls outside of it, and the same errors."""

import itertools
import re

import numpy as np
import pytest
import tensorflow as tf

import tf_rnn_ops
from robustness.problem import call_laws, grammar, laws, values
from robustness.problem import ops as problem_ops
from support import (
    bad_inputs,
    calls,
    cases,
    handler_calls,
    layer_cases,
    layer_ops,
    subproc,
    tf_ops,
)
from support.reference.spec import RnnSpec
from support.selection import all_but
from tf_rnn_ops.native import xla

ops = tf_rnn_ops.raw_ops
RESERVE_SPACE = "reserve_space"

pytestmark = pytest.mark.skipif(
    xla.unavailable() is not None, reason=f"there are no ops for XLA: {xla.unavailable()}"
)


def compiled(function):
    return tf.function(function, jit_compile=True)


def run_compiled(call, module=ops):
    """Runs a call of support/calls.py under XLA; its sizes, if any, are constants there."""
    sizes = {
        n: v for n, v in call.tensors.items() if n in ("num_layers", "num_units", "input_size")
    }
    tensors = {n: tf.nest.map_structure(tf.constant, v) for n, v in call.tensors.items()}
    tensors = {n: v for n, v in tensors.items() if n not in sizes}

    def run(tensors):
        return calls.function_of(module, call.op)(**tensors, **sizes, **call.attrs)

    return compiled(run)(tensors)


WITHOUT_XLA = ("QuantizedLayerRNN", "PackQuantizedLayerRNN")


def assert_same_bits(got, want):
    """Types, shapes and values; of reserve_space, which XLA allocates for full lengths, nothing."""
    if not hasattr(want, "_asdict"):
        got, want = {"": got}, {"": want}
    else:
        got, want = got._asdict(), want._asdict()
    for name, value in want.items():
        for a, b in zip(tf.nest.flatten(got[name]), tf.nest.flatten(value), strict=True):
            assert a.dtype == b.dtype, name
            if name != RESERVE_SPACE:
                assert a.shape == b.shape, name
                np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)


def test_every_op(rng):
    """Also those whose results XLA computes by itself, and packing, which does nothing there."""
    seen = set()
    for call in bad_inputs.base_calls(ops, rng):
        if call.op in WITHOUT_XLA:
            continue
        seen.add(call.op)
        got, want = run_compiled(call), calls.run_eagerly(ops, call)
        if call.op.startswith("Pack"):
            assert got.shape == [0]
        else:
            assert_same_bits(got, want)
    assert seen >= set(name for name in dir(ops) if name[0].isupper() and "Output" not in name) - {
        "PackCudnnRNNParams",
        "PackLayerRNN",
        *WITHOUT_XLA,
    }


CELLS = (
    *("cell=rnn activation=linear", "cell=relu", "cell=tanh", "cell=gru", "cell=gru_reset_before"),
    *("cell=gru zoneout_h=0.25 drawn=yes", "cell=lstm", "cell=lstm norm=yes"),
    "cell=lstm P=13 peephole=yes clip=0.25 proj_clip=0.125",
    "cell=lstm zoneout_h=0.25 zoneout_c=0.5 drawn=yes",
)
# More kinds of calls than robustness/problem compiles in each run, whose law is checked here.
LINES = [
    *(f"op=LayerRNN {cell} T=9 B=8 I=9 H=23 mask=both lengths=random" for cell in CELLS),
    "op=LayerRNN cell=gru T=5 B=3 I=9 H=40 activation=linear recurrent_activation=hard_sigmoid",
    "cell=lstm T=6 B=5 I=3 H=7 L=2 D=2 P=4 lengths=random",
    "cell=gru T=6 B=5 I=5 H=5 L=3 input=auto lengths=random",
    "cell=tanh T=6 B=5 I=2 H=18 D=2 lengths=random",
    *(f"cell=lstm {size} I=3 H=4 L=2" for size in ("T=0 B=3", "T=4 B=0")),
    *(f"op=LayerRNN cell=gru {size} I=3 H=4" for size in ("T=0 B=3", "T=4 B=0")),
    *(f"op=BlockLSTMV2 {size} I=3 H=4" for size in ("T=0 B=3", "T=4 B=0")),
    # Enough rows for every thread of the pool; XLA's is TensorFlow's.
    "op=LayerRNN cell=lstm T=20 B=64 I=64 H=128 run=inference",
]


TYPES = ("float32", "float64", "bfloat16", "float16")


@pytest.mark.parametrize(
    "case",
    all_but(list(itertools.product(LINES, TYPES)), *zip(LINES, itertools.cycle(TYPES))),
    ids="-".join,
)
def test_results_and_gradients(case):
    line, dtype = case
    for run in ("training", "inference")[: 1 + ("run=" not in line)]:
        problem = grammar.parse(f"{line} type={dtype}" + f" run={run}" * ("run=" not in line))
        call = values.case(problem)
        got = problem_ops.run(problem, call)
        call_laws.under_xla(laws.Subject(problem, call, got, decided=True))


@pytest.mark.parametrize("mode", layer_cases.MODES)
def test_either_reserve_space(mode, rng):
    """The op and its gradient need not be in one computation."""
    case = layer_cases.random_layer_case(mode, rng, "float32", largest=(9, 8, 9, 40))
    want = layer_ops.forward(ops, case)
    got = compiled(lambda: layer_ops.forward(ops, case))()
    gradients = layer_ops.backward(ops, case, want)
    assert_same_bits(compiled(lambda r: layer_ops.backward(ops, case, r))(want), gradients)
    assert_same_bits(layer_ops.backward(ops, case, got), gradients)


def test_gradients(rng):
    """The gradients of a loss through a tape in a compiled function, for shapes that it does not know."""
    case = layer_cases.layer_case("lstm", (7, 5, 3, 6), rng, "float32")
    inputs = layer_ops.tensors(case)

    def step(inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = ops.LayerRNN(**inputs)
            loss = tf.reduce_sum(result.output**2) + tf.reduce_sum(result.output_c)
        return tape.gradient(loss, [inputs[name] for name in layer_ops.DIFFERENTIABLE])

    unknown = {n: tf.TensorSpec([None] * t.shape.rank, t.dtype) for n, t in inputs.items()}
    run = tf.function(step, jit_compile=True, input_signature=[unknown])
    for got, want in zip(run(inputs), step(inputs), strict=True):
        # XLA forms the loss's own gradient in another way.
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)


def test_an_eager_tape_over_a_compiled_function(rng):
    case = cases.rnn_case(RnnSpec("gru", 2, 6, 4), 5, 3, rng, "float32")
    tensors = tf_ops.rnn_tensors(case)

    def forward(params):
        inputs = {**tensors.inputs(), "params": params}
        return ops.CudnnRNNV3(**inputs, **case.spec.attrs()).output

    found = []
    for function in (forward, compiled(forward)):
        with tf.GradientTape() as tape:
            tape.watch(tensors.params)
            output = function(tensors.params)
        found.append(tape.gradient(output, tensors.params, output_gradients=tensors.dy))
    np.testing.assert_array_equal(found[1], found[0])


def test_inside_a_loop(rng):
    case = layer_cases.layer_case("gru", (4, 3, 5, 5), rng, "float32", lengths=None)
    inputs = layer_ops.tensors(case)

    def loop(x):
        def body(i, x):
            result = ops.LayerRNN(**{**inputs, "input": x}, rnn_mode="gru")
            return i + 1, result.output

        return tf.while_loop(lambda i, x: i < 3, body, (0, x))[1]

    np.testing.assert_array_equal(compiled(loop)(inputs["input"]), loop(inputs["input"]))


def test_operands_of_another_layout(rng):
    """XLA would rather transpose by a layout than by a copy."""
    case = layer_cases.layer_case("lstm", (6, 4, 3, 5), rng, "float32")
    inputs = layer_ops.tensors(case)

    def run(x):
        result = ops.LayerRNN(**{**inputs, "input": tf.transpose(x, [1, 0, 2])})
        return tf.transpose(result.output, [2, 1, 0])

    x = tf.transpose(inputs["input"], [1, 0, 2])
    np.testing.assert_array_equal(compiled(run)(x), run(x))


# ---- Dropout ----


def dropped(seed, ops_of_it):
    spec = RnnSpec("rnn_relu", 2, 16, 16)
    ones = tf.ones([4, 8, 16])

    def run():
        return [
            ops.CudnnRNNV3(
                input=ones,
                input_h=tf.zeros([2, 8, 16]),
                input_c=0.0,
                params=tf.fill([1088], 0.1),
                sequence_lengths=tf.fill([8], 4),
                **{**spec.attrs(), "dropout": 0.5, "seed": seed},
            ).output
            for _ in range(ops_of_it)
        ]

    return run


def test_each_call_drops_anew():
    """And as in a graph: calls count for each op of it, and from the start after a retrace."""
    run, again = compiled(dropped(seed=3, ops_of_it=2)), compiled(dropped(seed=3, ops_of_it=2))
    graph = tf.function(dropped(seed=3, ops_of_it=2))
    seen = []
    for _ in range(3):
        outputs = graph()
        for got in (run(), again()):
            for one, want in zip(got, outputs, strict=True):
                np.testing.assert_array_equal(one, want)
        seen.append(outputs[0].numpy())
    assert (seen[0] != seen[1]).any() and (seen[1] != seen[2]).any()


def test_gradients_use_the_mask_of_their_call(rng):
    spec = RnnSpec("lstm", 2, 5, 3)
    case = cases.rnn_case(spec, 4, 3, rng, "float64")
    attrs = {"dropout": 0.5, "seed": 7}

    def both():
        result = tf_ops.rnn_forward(ops, case, **attrs)
        return result, tf_ops.rnn_backward(ops, case, result, **attrs)

    result, gradients = compiled(both)()
    want, want_gradients = tf.function(both)()
    assert_same_bits(result, want)
    assert_same_bits(gradients, want_gradients)


# ---- Errors ----


def test_values_are_refused_when_the_computation_runs(rng):
    case = layer_cases.layer_case("lstm", (5, 3, 4, 6), rng, "float32")
    forward, backward = layer_ops.calls(ops, case)
    lengths = forward.with_tensor("sequence_lengths", np.array([6, 1, 1], np.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sequence_lengths.*6"):
        run_compiled(lengths)
    other = backward.with_tensor("sequence_lengths", np.array([4, 1, 5], np.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="reserve_space"):
        run_compiled(other)
    grown = backward.tensors["reserve_space"]
    grown = backward.with_tensor("reserve_space", np.concatenate([grown, grown]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="reserve_space must be the vector"):
        run_compiled(grown)
    block = calls.block_calls(ops, (5, 3, 4, 6), rng)[0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="seq_len_max"):
        run_compiled(block.with_tensor("seq_len_max", np.int64(6)))


def test_shapes_are_refused_when_it_is_compiled(rng):
    case = layer_cases.layer_case("lstm", (5, 3, 4, 6), rng, "float32")
    forward = layer_ops.calls(ops, case)[0]
    forward = forward.with_tensor("input_h", np.zeros([2, 6], np.float32))
    unknown = calls.trace(ops, forward)  # so that building the graph finds nothing
    run = tf.function(
        lambda *t: unknown(*t),
        jit_compile=True,
        input_signature=[tf.TensorSpec(None, t.dtype) for t in calls.arguments(forward)],
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="input_h must have shape"):
        run(*calls.arguments(forward))


def test_sizes_must_be_constants():
    @compiled
    def size(units):
        return ops.CudnnRNNParamsSize(
            num_layers=1, num_units=units, input_size=2, T=tf.float32, S=tf.int32
        )

    # So that a cluster that TensorFlow chose itself runs without XLA then.
    with pytest.raises(tf.errors.UnimplementedError, match="num_units must be a constant"):
        size(tf.constant(3))


LAYER_ARGS = "2x1x3xf32 1x4xf32 f32 3x4xf32 4x4xf32 4xf32 0xf32 0xf32 0xf32 0xi32 0xf32 0xf32 0xi64"
LAYER_RESULTS = "2x1x4xf32 1x4xf32 f32 f32"
LAYER_ATTRS = (
    'activation = "tanh", cell_clip = 0.0 : f32, is_training = false, '
    "layer_norm_epsilon = 0.001 : f32, proj_clip = 0.0 : f32, "
    'recurrent_activation = "sigmoid", rnn_mode = "rnn_tanh", time_major = true, '
    "zoneout_c = 0.0 : f32, zoneout_h = 0.0 : f32"
)


def call_handler(args=LAYER_ARGS, results=LAYER_RESULTS, attrs=LAYER_ATTRS):
    arguments, found = handler_calls.zeros(args), handler_calls.zeros(results)
    return handler_calls.run("LayerRNN", arguments, found, attrs)


def test_a_handler_called_directly():
    assert [t.shape for t in call_handler()] == [[2, 1, 4], [1, 4], [], []]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"args": LAYER_ARGS.removesuffix(" 0xi64")}, "13 arguments and 4 results"),
        ({"results": LAYER_RESULTS.removesuffix(" f32")}, "13 arguments and 4 results"),
        ({"args": LAYER_ARGS.replace("3x4xf32", "3x4xf64")}, "The type of argument 3"),
        ({"results": LAYER_RESULTS.replace(" 1x4xf32", " 1x4xf64")}, "The type of result"),
        ({"args": LAYER_ARGS.replace("2x1x3xf32", "2x1x3xi32")}, "T must be bfloat16, half, float"),
        ({"results": LAYER_RESULTS.replace("2x1x4", "1x1x4")}, "output must have shape"),
        ({"attrs": LAYER_ATTRS.replace("false", "true")}, "reserve_space must have shape"),
        ({"attrs": LAYER_ATTRS.replace("rnn_tanh", "tanh")}, "rnn_mode must be"),
        ({"attrs": LAYER_ATTRS.replace("rnn_mode", "mode")}, "rnn_mode is missing"),
        ({"attrs": LAYER_ATTRS.replace('"sigmoid"', '"relu"')}, "recurrent_activation"),
        ({"args": LAYER_ARGS.replace("4x4xf32", "4x5xf32")}, "recurrent_kernel must have shape"),
    ],
    ids=str,
)
def test_a_handler_checks_what_it_gets(change, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call_handler(**change)


# ---- Sizes that XLA finds when it runs ----


@pytest.mark.parametrize("mode", layer_cases.MODES)
def test_rows_that_are_chosen_at_run_time(mode, rng):
    # XLA pads the rows, and what a seed selects depends on their number.
    given = {"input_mask": False, "recurrent_mask": False, "seed": False}
    case = layer_cases.layer_case(mode, (5, 6, 3, 4), rng, "float32", **given)
    inputs = layer_ops.tensors(case, time_major=False)
    keep = tf.constant([True, False, True, True, False, True])
    weights = [inputs[name] for name in ("kernel", "recurrent_kernel", "bias")]

    def step(inputs, keep, weights):
        rows = ("input", "input_h", "sequence_lengths") + (("input_c",) if case.is_lstm else ())
        kernel, recurrent_kernel, bias = weights
        chosen = {n: tf.boolean_mask(inputs[n], keep) for n in rows}
        with tf.GradientTape() as tape:
            tape.watch(weights)
            result = ops.LayerRNN(
                **{**inputs, **chosen},
                **{"kernel": kernel, "recurrent_kernel": recurrent_kernel, "bias": bias},
                **case.attrs(),
                time_major=False,
            )
            loss = tf.reduce_sum(result.output * tf.boolean_mask(dy, keep))
        return result.output, result.output_h, tape.gradient(loss, weights)

    dy = tf.constant(np.swapaxes(case.dy, 0, 1), tf.float32)
    rest = {n: t for n, t in inputs.items() if n not in ("kernel", "recurrent_kernel", "bias")}
    got = tf.nest.flatten(compiled(step)(rest, keep, weights))
    want = tf.nest.flatten(step(rest, keep, weights))
    assert got[0].shape == [4, 5, case.hidden]
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)


def test_time_that_is_chosen_at_run_time(rng):
    x = tf.constant(rng.standard_normal([6, 2, 3]), tf.float32)
    keep = tf.constant([True, False, True, True, False, True])
    case = layer_cases.layer_case("lstm", (6, 2, 3, 4), rng, "float32", lengths=None)
    inputs = {**layer_ops.tensors(case), "input_mask": (), "recurrent_mask": ()}
    rnn = cases.rnn_case(RnnSpec("gru", 2, 4, 3, "bidirectional"), 6, 2, rng, "float32")
    block = tf_ops.block_tensors(cases.block_case(6, 2, 3, 4, rng, "float32"))

    def step(x, keep):
        x = tf.boolean_mask(x, keep)
        layer = ops.LayerRNN(**{**inputs, "input": x})
        lengths = tf.fill([2], tf.shape(x)[0])
        stack = {**tf_ops.rnn_tensors(rnn).inputs(), "input": x, "sequence_lengths": lengths}
        steps = tf.cast(tf.shape(x)[0], tf.int64)
        return (
            layer.output,
            layer.output_h,
            layer.output_c,
            ops.CudnnRNNV3(**stack, **rnn.spec.attrs()).output,
            ops.BlockLSTMV2(**{**block, "x": x, "seq_len_max": steps}).h,
        )

    got = compiled(step)(x, keep)
    for one, other in zip(got, step(x, keep), strict=True):
        assert one.shape == other.shape
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("chosen", all_but([None, "rows", "steps"], "rows"))
@pytest.mark.parametrize("mode", all_but(["lstm", "gru"], "gru"))
def test_second_order(mode, chosen, rng):
    """The gradients of a gradient penalty, also over a tape outside of the compiled function."""
    case = layer_cases.layer_case(
        mode, (6, 6, 3, 4), rng, "float32", lengths=None, input_mask=False, recurrent_mask=False
    )
    inputs = {**layer_ops.tensors(case), "input_h": tf.zeros([6, 4]), "input_c": tf.zeros([6, 4])}
    keep = tf.constant([True, False, True, True, False, True])

    def penalty(x, weights):
        states = {}
        if chosen is not None:
            x = tf.boolean_mask(x, keep, axis=0 if chosen == "steps" else 1)
        if chosen == "rows":
            states = {n: tf.boolean_mask(inputs[n], keep) for n in ("input_h", "input_c")}
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = ops.LayerRNN(**{**inputs, **states, **weights, "input": x}, rnn_mode=mode)
            y = tf.reduce_sum(result.output**2)
        return tf.reduce_sum(tape.gradient(y, x) ** 2)

    def gradients(function, x, weights):
        with tf.GradientTape() as tape:
            tape.watch([x, weights])
            total = function(x, weights)
        return tf.nest.flatten(tape.gradient(total, [x, weights]))

    x = inputs["input"]
    weights = {n: inputs[n] for n in ("kernel", "recurrent_kernel", "bias")}
    want = gradients(penalty, x, weights)
    whole = compiled(lambda x, weights: gradients(penalty, x, weights))(x, weights)
    found = [whole]
    if chosen is None:  # else TensorFlow aborts (docs/troubleshooting.md)
        found.append(gradients(compiled(penalty), x, weights))
    for got in found:
        for one, other in zip(got, want, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * np.max(np.abs(other)))


def test_rows_of_block_lstm_that_are_chosen_at_run_time(rng):
    case = cases.block_case(4, 5, 3, 4, rng, "float32", use_peephole=True)
    tensors = tf_ops.block_tensors(case)
    keep = tf.constant([True, False, True, False, True])
    # The values that are not chosen must not reach the sums.
    poison = tf.where(keep[None, :, None], tensors["x"], np.nan)

    def step(x, keep, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            chosen = {n: tf.boolean_mask(tensors[n], keep) for n in ("cs_prev", "h_prev")}
            x = tf.boolean_mask(x, keep, axis=1)
            result = ops.BlockLSTMV2(**{**tensors, **chosen, "x": x, "w": w}, use_peephole=True)
            loss = tf.reduce_sum(result.h**2)
        return result.h, tape.gradient(loss, w)

    got = compiled(step)(poison, keep, tensors["w"])
    for one, other in zip(got, step(poison, keep, tensors["w"]), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)


@pytest.mark.parametrize("taken", [True, False])
def test_a_gradient_of_a_branch(taken, rng):
    """XLA only knows the maximal number of elements of a reserve space in a tf.cond."""
    case = layer_cases.layer_case("gru", (4, 2, 6, 5), rng, "float32", lengths=None)
    inputs = layer_ops.tensors(case)
    stack = cases.rnn_case(RnnSpec("lstm", 2, 5, 6), 4, 2, rng, "float32")
    rest = {n: t for n, t in tf_ops.rnn_tensors(stack).inputs().items() if n != "input"}

    def layer(x):
        return ops.LayerRNN(**{**inputs, "input": x}, **case.attrs()).output

    def network(x):
        return ops.CudnnRNNV3(input=x, **rest, **stack.spec.attrs()).output

    def step(x, taken):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = [tf.cond(taken, lambda f=f: f(x), lambda: x[..., :5]) for f in (layer, network)]
            loss = tf.add_n([tf.reduce_sum(y * y) for y in found])
        return tape.gradient(loss, x)

    x, taken = inputs["input"], tf.constant(taken)
    np.testing.assert_allclose(compiled(step)(x, taken), step(x, taken), rtol=0, atol=2e-5)


def test_weights_that_are_chosen_at_run_time_are_refused(rng):
    case = layer_cases.layer_case("rnn_tanh", (4, 2, 6, 5), rng, "float32", input_mask=False)
    inputs = layer_ops.tensors(case)
    keep = tf.constant([True, False, True, True, False, True])

    @compiled
    def step(x, kernel, keep):
        x = tf.boolean_mask(x, keep, axis=2)
        kernel = tf.boolean_mask(kernel, keep)
        return ops.LayerRNN(**{**inputs, "input": x, "kernel": kernel}, rnn_mode="rnn_tanh").output

    with pytest.raises(tf.errors.InvalidArgumentError, match="batch dimensions may be dynamic"):
        step(inputs["input"], inputs["kernel"], keep)


# The shapes for an LSTM with T = 3, B = 2, I = 4, H = 5, whose input has known sizes.
CHOSEN = {
    "peepholes": ([3, 5], 0),
    "layer_norm": ([18, 5], 0),
    "projection": ([5, 4], 1),
    "input_h": ([2, 5], 1),
    "seed": ([2], 0),
    "input_mask": ([4, 2, 4], 0),
    "sequence_lengths": ([2], 0),
    "input_c": ([2, 5], 0),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_size_that_is_chosen_at_run_time_beside_a_known_one_is_refused(name, rng):
    shape, axis = CHOSEN[name]
    case = layer_cases.layer_case(
        "lstm", (3, 2, 4, 5), rng, "float32", lengths=None, input_mask=False, recurrent_mask=False
    )
    inputs = layer_ops.tensors(case)
    dtype = {"seed": tf.int64, "sequence_lengths": tf.int32}.get(name, tf.float32)
    if name == "projection":
        inputs["recurrent_kernel"] = inputs["recurrent_kernel"][:4]
        inputs["input_h"] = inputs["input_h"][:, :4]

    def step(keep):
        chosen = tf.boolean_mask(tf.ones(shape, dtype), keep, axis=axis)
        return ops.LayerRNN(**{**inputs, name: chosen}, zoneout_h=0.5 * (name == "seed")).output

    whole = tf.ones([shape[axis]], tf.bool)
    tf.function(step)(whole)
    for keep in (whole, tf.constant([True] * (shape[axis] - 1) + [False])):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"dimension {axis} of {name} is"):
            compiled(step)(keep)


def test_rows_that_are_chosen_otherwise_than_those_of_the_input_are_refused(rng):
    layer = layer_cases.layer_case(
        "lstm", (3, 6, 4, 5), rng, "float32", lengths=[1, 3, 2, 0, 3, 1], input_mask=False
    )
    layer_inputs = layer_ops.tensors(layer)
    block = tf_ops.block_tensors(cases.block_case(3, 6, 4, 5, rng, "float32"))

    def of_layer(name):
        def step(mine, other):
            given = dict(layer_inputs)
            for n, a in (("input", 1), ("sequence_lengths", 0), ("input_h", 0), ("input_c", 0)):
                given[n] = tf.boolean_mask(given[n], other if n == name else mine, axis=a)
            given["recurrent_mask"] = tf.boolean_mask(given["recurrent_mask"], mine, axis=1)
            return ops.LayerRNN(**given).output

        return step

    def of_block(mine, other):
        given = {"x": tf.boolean_mask(block["x"], mine, axis=1)}
        given["cs_prev"] = tf.boolean_mask(block["cs_prev"], mine)
        given["h_prev"] = tf.boolean_mask(block["h_prev"], other)
        return ops.BlockLSTMV2(**{**block, **given}).h

    mine = tf.constant([True, False, True, True, False, True])
    fewer = tf.constant([True, False, True, True, False, False])
    for step in (of_layer("input_h"), of_layer("sequence_lengths"), of_block):
        for other in (fewer, ~fewer, tf.ones_like(mine)):
            with pytest.raises(tf.errors.InvalidArgumentError):
                tf.function(step)(mine, other)
            with pytest.raises(tf.errors.InvalidArgumentError, match="batch size of the sequence"):
                compiled(step)(mine, other)
        np.testing.assert_array_equal(compiled(step)(mine, mine), tf.function(step)(mine, mine))


def test_lengths_above_a_time_that_is_chosen_at_run_time_are_refused(rng):
    keep = tf.constant([True, False, True, True])
    rnn = cases.rnn_case(RnnSpec("gru", 1, 5, 3), 4, 2, rng, "float32")
    stack = tf_ops.rnn_tensors(rnn).inputs()
    block = tf_ops.block_tensors(cases.block_case(4, 2, 3, 5, rng, "float32"))

    def of_stack(length):
        x = tf.boolean_mask(stack["input"], keep)
        lengths = tf.stack([length, 0])
        given = {**stack, "input": x, "sequence_lengths": lengths}
        return ops.CudnnRNNV3(**given, **rnn.spec.attrs()).output

    def of_block(length):
        x = tf.boolean_mask(block["x"], keep)
        return ops.BlockLSTMV2(**{**block, "x": x, "seq_len_max": tf.cast(length, tf.int64)}).h

    for step, name in ((of_stack, "sequence_lengths"), (of_block, "seq_len_max")):
        for length in (4, 77):
            for run in (tf.function(step), compiled(step)):
                with pytest.raises(tf.errors.InvalidArgumentError, match=name):
                    run(tf.constant(length))
        np.testing.assert_array_equal(
            compiled(step)(tf.constant(3)), tf.function(step)(tf.constant(3))
        )


OPTIONAL_OF_LAYER = (
    "bias", "projection", "peepholes", "layer_norm", "input_mask", "recurrent_mask",
)  # fmt: skip


@pytest.mark.parametrize(("steps", "rows"), [(1, 2**38), (2**33 + 8, 1)])
def test_the_reserve_space_of_huge_calls_is_sized(steps, rows):
    def step():
        inputs = {name: tf.zeros([0], tf.float16) for name in OPTIONAL_OF_LAYER}
        inputs |= {"input": tf.zeros([steps, rows, 1], tf.float16)}
        inputs |= {name: tf.zeros([rows, 1], tf.float16) for name in ("input_h", "input_c")}
        inputs |= {name: tf.zeros([1, 4], tf.float16) for name in ("kernel", "recurrent_kernel")}
        inputs |= {"sequence_lengths": tf.zeros([0], tf.int32), "seed": tf.zeros([0], tf.int64)}
        return ops.LayerRNN(**inputs, rnn_mode="lstm", is_training=True).reserve_space

    text = compiled(step).experimental_get_compiler_ir()(stage="hlo")
    (elements,) = re.findall(r"ROOT .*f16\[(\d+)\]", text)
    assert int(elements) > steps * rows


# ---- Processes ----


AUTO = {"TF_XLA_FLAGS": "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"}


@pytest.mark.parametrize(
    ("what", "env"),
    [
        ("late", {}),
        ("clusters", AUTO),
        ("sizes", {"TF_XLA_FLAGS": f"{AUTO['TF_XLA_FLAGS']} --tf_xla_min_cluster_size=1"}),
        ("one_thread", {}),
        ("stock", {}),
    ],
)
def test_in_a_process_of_its_own(what, env):
    subproc.run_module("transforms.xla_child", what, **env)
