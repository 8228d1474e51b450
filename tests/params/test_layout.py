"""tf_rnn_ops.params.Layout: blocks, pack, unpack and the arguments that they reject."""

import copy
import itertools

import ml_dtypes
import numpy as np
import pytest

from tf_rnn_ops.params import Layout

NUM_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def all_arguments():
    """Every combination of attributes at small sizes, as keyword arguments."""
    for mode, layers, inputs, input_mode, direction, proj in itertools.product(
        NUM_GATES,
        (1, 2, 3),
        (1, 3, 5),
        ("linear_input", "skip_input", "auto_select"),
        ("unidirectional", "bidirectional"),
        (0, 1, 3),
    ):
        if (proj and mode != "lstm") or (input_mode == "skip_input" and inputs != 3):
            continue
        yield {
            "rnn_mode": mode,
            "num_layers": layers,
            "num_units": 3,
            "input_size": inputs,
            "input_mode": input_mode,
            "direction": direction,
            "num_proj": proj,
        }


@pytest.mark.parametrize("mode", NUM_GATES)
def test_blocks_fill_the_buffer_in_order(mode):
    tested = 0
    for arguments in all_arguments():
        if arguments["rnn_mode"] != mode:
            continue
        layout = Layout(**arguments)
        end = 0
        for block in layout.weights + layout.biases:
            assert block.offset == end, arguments
            assert block.size == int(np.prod(block.shape)), arguments
            end += block.size
        assert layout.size == end, arguments

        gates = NUM_GATES[mode]
        dirs = 2 if arguments["direction"] == "bidirectional" else 1
        pseudo_layers = arguments["num_layers"] * dirs
        projects = arguments["num_proj"] == 1
        assert len(layout.weights) == pseudo_layers * (2 * gates + projects), arguments
        assert len(layout.biases) == pseudo_layers * 2 * gates, arguments
        tested += 1
    assert tested >= 36


def test_blocks_of_a_projected_bidirectional_lstm():
    layout = Layout("lstm", 2, 3, 5, direction="bidirectional", num_proj=2)
    assert layout.size == 336 + 8 * 12
    assert [str(block) for block in layout.weights[:9]] == [
        "layer 0, direction 0, input, gate i",
        "layer 0, direction 0, input, gate f",
        "layer 0, direction 0, input, gate c",
        "layer 0, direction 0, input, gate o",
        "layer 0, direction 0, recurrent, gate i",
        "layer 0, direction 0, recurrent, gate f",
        "layer 0, direction 0, recurrent, gate c",
        "layer 0, direction 0, recurrent, gate o",
        "layer 0, direction 0, projection",
    ]
    assert [block.shape for block in layout.weights[:9]] == 4 * [(3, 5)] + 4 * [(3, 2)] + [(2, 3)]
    assert layout.weights[9].offset == 90
    assert (layout.weights[9].layer, layout.weights[9].direction) == (0, 1)
    assert layout.weights[18].shape == (3, 4)  # layer 1 reads both directions' projections
    assert layout.biases[0].offset == 336
    assert [block.gate for block in layout.biases[:8]] == 2 * ["i", "f", "c", "o"]
    assert [block.source for block in layout.biases[:8]] == 4 * ["input"] + 4 * ["recurrent"]


def test_skipped_input_keeps_both_biases():
    layout = Layout("gru", 2, 3, 3, input_mode="auto_select")
    assert layout.input_mode == "skip_input"
    assert [block.shape for block in layout.weights[:3]] == 3 * [(3, 0)]
    assert layout.weights[6].shape == (3, 3)
    assert len(layout.biases) == 12
    assert layout.size == 9 * 3 + 18 * 3 + 12 * 3
    assert Layout("gru", 2, 3, 4, input_mode="auto_select").input_mode == "linear_input"


def test_projection_of_full_size_is_none():
    full = Layout("lstm", 2, 3, 5, num_proj=3)
    none = Layout("lstm", 2, 3, 5)
    assert full.num_proj == 0
    assert full.weights == none.weights
    assert full.size == none.size


def test_layouts_of_one_network_are_equal():
    layout = Layout("gru", 2, 3, 3, input_mode="auto_select")
    same = Layout("gru", np.int64(2), 3, 3, "skip_input")
    assert layout == same and len({layout, same}) == 1 and eval(repr(layout)) == layout
    assert layout != Layout("gru", 2, 3, 3) and copy.deepcopy(layout) == layout
    with pytest.raises(AttributeError, match="num_units"):
        layout.num_units = 4


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_pack_and_unpack_are_inverse(dtype, rng):
    for arguments in all_arguments():
        layout = Layout(**arguments)
        flat = rng.standard_normal(layout.size).astype(dtype)
        weights, biases = layout.unpack(flat)
        assert [w.shape for w in weights] == [block.shape for block in layout.weights]
        assert [b.shape for b in biases] == [block.shape for block in layout.biases]
        packed = layout.pack(weights, biases)
        assert packed.dtype == dtype
        np.testing.assert_array_equal(packed, flat)


def test_rows_of_a_matrix_are_together():
    layout = Layout("rnn_tanh", 1, 2, 3)
    (w, r), (bw, br) = layout.unpack(np.arange(14))
    np.testing.assert_array_equal(w, [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(r, [[6, 7], [8, 9]])
    np.testing.assert_array_equal(bw, [10, 11])
    np.testing.assert_array_equal(br, [12, 13])


def test_pack_takes_strided_arrays_and_unpack_gives_views():
    layout = Layout("rnn_tanh", 1, 2, 3)
    flat = np.arange(14.0)
    weights, biases = layout.unpack(flat)
    transposed = [np.asfortranarray(w) for w in weights]
    np.testing.assert_array_equal(layout.pack(transposed, biases), flat)
    weights[0][0, 1] = -1
    assert flat[1] == -1
    packed = layout.pack(weights, biases)
    packed[0] = 99
    assert flat[0] == 0


def test_pack_takes_lists_and_bfloat16():
    layout = Layout("rnn_tanh", 1, 1, 1)
    packed = layout.pack([[[1.0]], [[2.0]]], [[3.0], [4.0]])
    np.testing.assert_array_equal(packed, [1, 2, 3, 4])
    low = packed.astype(ml_dtypes.bfloat16)
    assert layout.pack(*layout.unpack(low)).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"rnn_mode": "LSTM"}, ["rnn_mode", "'LSTM'", "'lstm'"]),
        ({"rnn_mode": None}, ["rnn_mode", "None"]),
        ({"input_mode": "skip"}, ["input_mode", "'skip'", "'skip_input'"]),
        ({"direction": "both"}, ["direction", "'both'", "'bidirectional'"]),
        ({"num_layers": 0}, ["num_layers", "0"]),
        ({"num_units": 0}, ["num_units", "0"]),
        ({"input_size": -1}, ["input_size", "-1"]),
        ({"num_units": 2.5}, ["num_units", "integer", "2.5"]),
        ({"num_layers": "2"}, ["num_layers", "integer", "'2'"]),
        ({"num_proj": -1}, ["num_proj", "-1"]),
        ({"num_proj": 4}, ["num_proj", "3", "4"]),
        ({"num_proj": 1, "rnn_mode": "gru"}, ["num_proj", "'gru'", "1"]),
        ({"input_mode": "skip_input"}, ["skip_input", "5", "3"]),
    ],
)
def test_bad_arguments(changes, parts):
    arguments = {"rnn_mode": "lstm", "num_layers": 2, "num_units": 3, "input_size": 5, **changes}
    with pytest.raises(ValueError) as error:
        Layout(**arguments)
    assert str(error.value).endswith(".")
    for part in parts:
        assert part in str(error.value)


def test_bad_buffers():
    layout = Layout("lstm", 1, 3, 5)
    for shape in [(layout.size - 1,), (layout.size + 1,), (1, layout.size), (layout.size, 1), ()]:
        with pytest.raises(ValueError, match=str(layout.size)):
            layout.unpack(np.zeros(shape))


def test_bad_arrays():
    layout = Layout("lstm", 1, 3, 5)
    weights, biases = layout.unpack(np.zeros(layout.size, np.float32))
    with pytest.raises(ValueError, match="weights must be 8 arrays, but there are 7"):
        layout.pack(weights[:-1], biases)
    with pytest.raises(ValueError, match="biases must be 8 arrays, but there are 9"):
        layout.pack(weights, biases + [biases[0]])
    transposed = [weights[0].T] + weights[1:]
    with pytest.raises(ValueError, match=r"weights\[0\].*gate i.*\(3, 5\).*\(5, 3\)"):
        layout.pack(transposed, biases)
    with pytest.raises(ValueError, match=r"biases\[2\].*\(3,\).*\(3, 1\)"):
        layout.pack(weights, biases[:2] + [biases[2][:, None]] + biases[3:])
    with pytest.raises(ValueError, match="float32, float64"):
        layout.pack(weights, [b.astype(np.float64) for b in biases])


def test_size_is_the_formula_of_the_documentation():
    """The formula of docs/raw-ops.md, "Size"."""
    for arguments in all_arguments():
        layout = Layout(**arguments)
        g, h = NUM_GATES[layout.rnn_mode], layout.num_units
        d = 2 if layout.direction == "bidirectional" else 1
        s = layout.num_proj or h
        first_in = 0 if layout.input_mode == "skip_input" else layout.input_size
        first = g * h * (first_in + s + 2) + layout.num_proj * h
        other = g * h * (d * s + s + 2) + layout.num_proj * h
        assert layout.size == d * (first + (layout.num_layers - 1) * other), arguments
