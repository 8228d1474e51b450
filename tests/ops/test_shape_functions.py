"""Static shapes at graph construction, with known, partly known and unknown inputs."""

import functools

import pytest
import tensorflow as tf

import tf_rnn_ops

ops = tf_rnn_ops.raw_ops

T, B, I_SIZE, H, P = 5, 3, 4, 6, 2


def _placeholder(shape, dtype=tf.float32):
    return tf.compat.v1.placeholder(dtype, shape)


def _forward_shapes(input, input_h, input_c, lengths=(B,), params=(None,), **attrs):
    with tf.Graph().as_default():
        result = ops.CudnnRNNV3(
            input=_placeholder(input),
            input_h=_placeholder(input_h),
            input_c=_placeholder(input_c),
            params=_placeholder(params),
            sequence_lengths=_placeholder(lengths, tf.int32),
            **attrs,
        )
        return [t.shape for t in result]


def _as_lists(shapes):
    return [None if s.rank is None else s.as_list() for s in shapes]


def test_forward_fully_known():
    shapes = _forward_shapes([T, B, I_SIZE], [4, B, H], [4, B, H], direction="bidirectional")
    assert _as_lists(shapes) == [[T, B, 2 * H], [4, B, H], [4, B, H], [None], []]


def test_forward_batch_major_with_projection():
    shapes = _forward_shapes([B, T, I_SIZE], [B, 2, P], [B, 2, H], num_proj=P, time_major=False)
    assert _as_lists(shapes) == [[B, T, P], [B, 2, P], [B, 2, H], [None], []]


@pytest.mark.parametrize("mode", ["gru", "rnn_tanh", "rnn_relu"])
def test_forward_without_lstm(mode):
    for input_c in ([], [None], [2, B, H], None):
        shapes = _forward_shapes([T, B, I_SIZE], [2, B, H], input_c, rnn_mode=mode)
        assert _as_lists(shapes) == [[T, B, H], [2, B, H], [], [None], []]


def test_forward_inference_has_scalar_reserve():
    shapes = _forward_shapes([T, B, I_SIZE], [1, B, H], [1, B, H], is_training=False)
    assert _as_lists(shapes) == [[T, B, H], [1, B, H], [1, B, H], [], []]


def test_forward_partly_known():
    shapes = _forward_shapes([None, None, I_SIZE], [2, None, H], [2, None, H], lengths=[None])
    assert _as_lists(shapes) == [[None, None, H], [2, None, H], [2, None, H], [None], []]
    # One input's batch serves for all.
    shapes = _forward_shapes([T, None, I_SIZE], [2, B, H], [None, None, None], lengths=None)
    assert shapes[0].as_list() == [T, B, H]


def test_forward_unknown_ranks():
    shapes = _forward_shapes(None, None, None, lengths=None, params=None)
    assert [s.rank for s in shapes] == [3, 3, 3, 1, 0]
    assert shapes[0].as_list() == [None, None, None]


def _backprop_shapes(fill, rnn_mode="lstm"):
    state_c = [2, B, H] if rnn_mode == "lstm" else []
    known = {
        "input": [T, B, I_SIZE],
        "input_h": [2, B, H],
        "input_c": state_c,
        "params": [None],
        "output": [T, B, H],
        "output_h": [2, B, H],
        "output_c": state_c,
        "output_backprop": [T, B, H],
        "output_h_backprop": [2, B, H],
        "output_c_backprop": state_c,
        "reserve_space": [None],
    }
    with tf.Graph().as_default():
        result = ops.CudnnRNNBackpropV3(
            **{name: _placeholder(fill(shape)) for name, shape in known.items()},
            sequence_lengths=_placeholder(fill([B]), tf.int32),
            host_reserved=_placeholder(fill([]), tf.int8),
            rnn_mode=rnn_mode,
        )
        return [t.shape for t in result]


def test_backprop():
    shapes = _backprop_shapes(lambda shape: shape)
    assert [s.rank for s in shapes] == [3, 3, 3, 1]
    assert _as_lists(shapes)[:3] == [[T, B, I_SIZE], [2, B, H], [2, B, H]]
    shapes = _backprop_shapes(lambda shape: shape, "gru")
    assert _as_lists(shapes)[:3] == [[T, B, I_SIZE], [2, B, H], []]
    shapes = _backprop_shapes(lambda shape: None)
    assert all(s.rank in (None, 1, 3) for s in shapes)


def test_params_ops():
    with tf.Graph().as_default():
        sizes = {
            name: _placeholder([], tf.int32) for name in ("num_layers", "num_units", "input_size")
        }
        assert ops.CudnnRNNParamsSize(**sizes, T=tf.half, S=tf.int64).shape == [1]
        flat = ops.CudnnRNNCanonicalToParamsV2(
            **sizes, weights=[_placeholder(None)] * 8, biases=[_placeholder([None])] * 8
        )
        assert flat.shape.rank == 1
        result = ops.CudnnRNNParamsToCanonicalV2(
            **sizes, params=_placeholder([None]), num_params_weights=8, num_params_biases=8
        )
        assert [len(part) for part in result] == [8, 8]
        assert all(bias.shape.rank in (None, 1) for bias in result.biases)


def test_params_ops_with_sizes_known_at_construction():
    sizes = {"num_layers": 2, "num_units": H, "input_size": I_SIZE}
    count = 4 * H * (I_SIZE + H) + 4 * H * (H + H) + 2 * 8 * H
    with tf.Graph().as_default():
        weights = [_placeholder(None)] * 16
        biases = [_placeholder([H])] * 16
        flat = ops.CudnnRNNCanonicalToParamsV2(**sizes, weights=weights, biases=biases)
        assert flat.shape == [count]
        result = ops.CudnnRNNParamsToCanonicalV2(
            **sizes, params=flat, num_params_weights=16, num_params_biases=16
        )
        assert _as_lists(t.shape for t in result.weights) == (
            [[H, I_SIZE]] * 4 + [[H, H]] * 4 + [[H, H]] * 8
        )
        assert _as_lists(t.shape for t in result.biases) == [[H]] * 16
        to_canonical = functools.partial(ops.CudnnRNNParamsToCanonicalV2, num_params_biases=16)
        to_params = ops.CudnnRNNCanonicalToParamsV2
        size = functools.partial(ops.CudnnRNNParamsSize, T=tf.float32, S=tf.int32)
        refused = (
            (
                lambda: to_canonical(
                    **sizes, params=_placeholder([count + 1]), num_params_weights=16
                ),
                rf"params must be a vector of {count} elements .* its shape is \[{count + 1}\]",
            ),
            (
                lambda: to_canonical(**sizes, params=flat, num_params_weights=15),
                "must be 16 and 16 .* they are 15 and 16",
            ),
            (
                lambda: to_params(**sizes, weights=weights[:-1], biases=biases),
                "must be 16 and 16 .* they are 15 and 16",
            ),
            (
                lambda: to_params(
                    **sizes, weights=weights, biases=biases[:-1] + [_placeholder([H + 1])]
                ),
                rf"biases\[15\] must have {H} elements, but its shape is \[{H + 1}\]",
            ),
            (
                lambda: size(**{**sizes, "num_units": 0}),
                "num_units must be at least 1, but it is 0",
            ),
            (
                lambda: size(num_layers=1, num_units=40000, input_size=40000),
                "params_size is 12800320000, which S=int32 cannot hold. Use S=int64",
            ),
        )
        for build, message in refused:
            with pytest.raises(ValueError, match=message):
                build()


def _layer_inputs(fill, gates=4, bias=None):
    known = {
        "input": [T, B, I_SIZE],
        "input_h": [B, H],
        "input_c": [B, H] if gates == 4 else [],
        "kernel": [I_SIZE, gates * H],
        "recurrent_kernel": [H, gates * H],
        "bias": bias or [gates * H],
        "sequence_lengths": [B],
        "input_mask": [gates, B, I_SIZE],
        "recurrent_mask": [gates, B, H],
    }
    return {
        name: _placeholder(fill(name, shape), tf.int32 if "lengths" in name else tf.float32)
        for name, shape in known.items()
    }


LAYER_FILLS = {
    "known": (lambda name, shape: shape, (T, B, H)),
    "unknown dimensions": (lambda name, shape: [None] * len(shape), (None, None, None)),
    "unknown ranks": (lambda name, shape: None, (None, None, None)),
    "units from the kernel only": (
        lambda name, shape: [None, shape[1]] if name == "kernel" else None,
        (None, None, H),
    ),
    "units and batch from a mask": (
        lambda name, shape: shape if name == "recurrent_mask" else None,
        (None, B, H),
    ),
    "nothing optional": (
        lambda name, shape: (
            [0] if name in ("bias", "sequence_lengths") or "mask" in name else shape
        ),
        (T, B, H),
    ),
}


@pytest.mark.parametrize("fill,expected", LAYER_FILLS.values(), ids=list(LAYER_FILLS))
def test_layer(fill, expected):
    t, b, h = expected
    with tf.Graph().as_default():
        result = ops.LayerRNN(**_layer_inputs(fill))
        assert _as_lists(x.shape for x in result) == [[t, b, h], [b, h], [b, h], [None]]
        result = ops.LayerRNN(**_layer_inputs(fill), is_training=False)
        assert result.reserve_space.shape == []
        inputs = _layer_inputs(fill, 3, [2, 3 * H])
        result = ops.LayerRNN(**inputs, rnn_mode="gru")
        assert _as_lists(x.shape for x in result) == [[t, b, h], [b, h], [], [None]]


def test_layer_batch_major():
    with tf.Graph().as_default():
        inputs = _layer_inputs(lambda name, shape: [B, T, I_SIZE] if name == "input" else shape)
        assert ops.LayerRNN(**inputs, time_major=False).output.shape == [B, T, H]


@pytest.mark.parametrize("known", [True, False])
def test_layer_backprop(known):
    rest = ("output", "output_h", "output_c")

    def fill(name, shape):
        return shape if known else None

    with tf.Graph().as_default():
        inputs = _layer_inputs(fill)
        shapes = ([T, B, H], [B, H], [B, H])
        more = {n: _placeholder(fill(n, s)) for n, s in zip(rest, shapes)}
        more |= {f"{n}_backprop": _placeholder(s) for n, s in zip(rest, shapes)}
        none = {n: _placeholder([0]) for n in ("projection", "peepholes", "layer_norm")}
        grads = ops.LayerRNNBackprop(**inputs, **none, **more, reserve_space=_placeholder([None]))
        if known:
            expected = _as_lists(inputs[name].shape for name in list(inputs)[:6])
        else:  # what follows from the gradients of the outputs
            expected = [[T, B, None], [B, H], [B, H], [None, 4 * H], [H, 4 * H], None]
        expected += [[0], [0], [0]]
        assert _as_lists(grad.shape for grad in grads) == expected


@pytest.mark.parametrize("known", [True, False])
def test_projected_layer(known):
    """While it is not known whether there is a projection, the size of the output is not either."""
    width = 2 * H
    shapes = {"projection": [H, width], "peepholes": [3, H]}
    with tf.Graph().as_default():
        inputs = _layer_inputs(lambda name, shape: shape)
        inputs["input_h"] = _placeholder([B, width] if known else None)
        inputs["recurrent_kernel"] = _placeholder([width, 4 * H] if known else None)
        inputs["recurrent_mask"] = _placeholder(None)
        own = {n: _placeholder(shape if known else None) for n, shape in shapes.items()}
        result = ops.LayerRNN(**inputs, **own, cell_clip=1.0, proj_clip=1.0)
        size = width if known else None
        assert _as_lists(x.shape for x in result) == [[T, B, size], [B, size], [B, H], [None]]


@pytest.mark.parametrize("known", [True, False])
def test_normalized_layer(known):
    with tf.Graph().as_default():
        inputs = _layer_inputs(lambda name, shape: shape if known or name != "input_h" else None)
        norms = _placeholder([18, H])
        result = ops.LayerRNN(**inputs, layer_norm=norms)
        assert _as_lists(x.shape for x in result) == [[T, B, H], [B, H], [B, H], [None]]
        with pytest.raises(ValueError, match=r"layer_norm must have shape \[18, H\]"):
            ops.LayerRNN(**inputs, layer_norm=_placeholder([17, H]))


PACKED_FILLS = {name: fill for name, fill in LAYER_FILLS.items() if "mask" not in name}


@pytest.mark.parametrize("fill,expected", PACKED_FILLS.values(), ids=list(PACKED_FILLS))
def test_packed_layer(fill, expected):
    t, b, h = expected
    with tf.Graph().as_default():
        for gates, mode, bias in ((4, "lstm", None), (3, "gru", [2, 3 * H])):
            inputs = _layer_inputs(fill, gates, bias)
            inputs = {n: x for n, x in inputs.items() if "mask" not in n}
            weights = {n: inputs[n] for n in ("kernel", "recurrent_kernel", "bias")}
            packed = ops.PackLayerRNN(**weights, rnn_mode=mode)
            assert packed.shape.as_list() == [None] and packed.dtype == tf.uint8
            result = ops.LayerRNNPacked(**inputs, packed=packed, rnn_mode=mode)
            c = [b, h] if mode == "lstm" else []
            assert _as_lists(x.shape for x in result) == [[t, b, h], [b, h], c]


def test_packed_ops_refuse_what_is_known_when_the_graph_is_built():
    with tf.Graph().as_default():
        inputs = _layer_inputs(lambda name, shape: shape)
        inputs = {n: x for n, x in inputs.items() if "mask" not in n}
        inputs["packed"] = _placeholder([None], tf.uint8)
        for name, tensor, message in (
            ("sequence_lengths", tf.constant([T, T + 1, 0]), "sequence_lengths"),
            ("packed", _placeholder([None, None], tf.uint8), "packed must be a vector"),
        ):
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
                ops.LayerRNNPacked(**{**inputs, name: tensor})
        kernel, recurrent = inputs["kernel"], inputs["recurrent_kernel"]
        for weights, message in (
            ({"kernel": _placeholder([3, 4 * H + 1])}, "kernel"),
            ({"kernel": _placeholder([3, 4 * H + 4])}, "recurrent_kernel"),
            ({"recurrent_kernel": _placeholder([H + 1, 4 * H])}, "recurrent_kernel"),
            ({"bias": _placeholder([2, 4 * H])}, "bias"),
        ):
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
                ops.PackLayerRNN(**{"kernel": kernel, "recurrent_kernel": recurrent, **weights})
        sizes = {"num_layers": 1, "num_units": 3, "input_size": 2}
        for params, attrs, message in (
            (_placeholder([83]), {}, "params must be a vector of 84 elements"),
            (_placeholder([None, None]), {}, r"its shape is \[\?, \?\]"),
            (_placeholder([None]), {"num_units": 0}, "num_units"),
            (_placeholder([None]), {"input_size": -1}, "input_size"),
            (_placeholder([None]), {"num_proj": 4}, "num_proj"),
            (_placeholder([None]), {"num_layers": 2**62}, "too large"),
        ):
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
                ops.PackCudnnRNNParams(params=params, **{**sizes, **attrs})


def test_layer_refuses_what_is_known_when_the_graph_is_built():
    with tf.Graph().as_default():
        inputs = _layer_inputs(lambda name, shape: shape)
        for name, tensor, message in (
            ("sequence_lengths", tf.constant([T, T + 1, 0]), "sequence_lengths"),
            ("input_mask", _placeholder([3, B, I_SIZE]), "input_mask must have shape"),
            ("input", _placeholder([2**58, B, I_SIZE]), "too large"),
        ):
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
                ops.LayerRNN(**{**inputs, name: tensor})


def _block_inputs(fill):
    known = {
        "x": [T, B, I_SIZE],
        "cs_prev": [B, H],
        "h_prev": [B, H],
        "w": [I_SIZE + H, 4 * H],
        "wci": [H],
        "wcf": [H],
        "wco": [H],
        "b": [4 * H],
    }
    tensors = {name: _placeholder(fill(name, shape)) for name, shape in known.items()}
    return {"seq_len_max": _placeholder(fill("seq_len_max", []), tf.int64), **tensors}


FILLS = {
    "known": (lambda name, shape: shape, [T, B, H]),
    "unknown dimensions": (lambda name, shape: [None] * len(shape), [None, None, None]),
    "unknown ranks": (lambda name, shape: None, [None, None, None]),
    "units from w only": (
        lambda name, shape: shape if name == "w" else [None] * len(shape),
        [None, None, H],
    ),
    "units from b only": (
        lambda name, shape: shape if name == "b" else None,
        [None, None, H],
    ),
    "batch from the state": (
        lambda name, shape: [B, None] if name == "cs_prev" else [None] * len(shape),
        [None, B, None],
    ),
}


@pytest.mark.parametrize("fill,expected", FILLS.values(), ids=list(FILLS))
def test_block_lstm(fill, expected):
    with tf.Graph().as_default():
        result = ops.BlockLSTMV2(**_block_inputs(fill))
        assert [t.shape.as_list() for t in result] == [expected] * 7


def test_block_lstm_grad():
    with tf.Graph().as_default():
        inputs = _block_inputs(lambda name, shape: shape)
        names = ("i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad")
        rest = {name: _placeholder([T, B, H]) for name in names}
        grads = ops.BlockLSTMGradV2(**inputs, **rest, use_peephole=True)
        wanted = [
            inputs[n].shape for n in ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
        ]
        assert [g.shape.as_list() for g in grads] == [s.as_list() for s in wanted]
        unknown = _block_inputs(lambda name, shape: None)
        grads = ops.BlockLSTMGradV2(
            **unknown, **{name: _placeholder(None) for name in names}, use_peephole=True
        )
        assert all(g.shape.rank in (None, r) for g, r in zip(grads, (3, 2, 2, 2, 1, 1, 1, 1)))
