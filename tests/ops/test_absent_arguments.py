"""None as an argument of the raw ops: the same as nothing where the argument is optional, otherwise an error
that names it."""

import numpy as np
import pytest
import tensorflow as tf

from tf_rnn_ops import raw_ops

TIME, BATCH, INPUTS, UNITS = 3, 2, 4, 4


@pytest.fixture(scope="module")
def calls():
    """Arguments of a valid call of each op, without optional tensors and without cell states."""
    x = tf.random.stateless_uniform([TIME, BATCH, INPUTS], [1, 2])
    h, h3 = tf.zeros([BATCH, UNITS]), tf.zeros([1, BATCH, UNITS])
    layer = {"input": x, "input_h": h, "input_c": 0, "rnn_mode": "gru"}
    layer |= {
        "kernel": tf.ones([INPUTS, 3 * UNITS]),
        "recurrent_kernel": tf.ones([UNITS, 3 * UNITS]),
    }
    sizes = {"num_layers": 1, "num_units": UNITS, "input_size": INPUTS, "rnn_mode": "gru"}
    cudnn = {"input": x, "input_h": h3, "input_c": 0, "params": tf.ones([120]), "rnn_mode": "gru"}
    cudnn["sequence_lengths"] = np.full(BATCH, TIME, "int32")
    weights = {
        "weights": 3 * [tf.ones([UNITS, INPUTS])] + 3 * [tf.ones([UNITS, UNITS])],
        "biases": 6 * [h[0]],
    }
    packed = raw_ops.PackCudnnRNNParams(params=cudnn["params"], **sizes)
    layer_weights = {name: layer[name] for name in ("kernel", "recurrent_kernel", "rnn_mode")}
    quantized = {"rnn_mode": "gru"}
    for name in ("kernel", "recurrent_kernel"):
        quantized |= {name: tf.cast(layer[name], tf.int8), f"{name}_scale": tf.ones([3 * UNITS])}
    states = {name: layer[name] for name in ("input", "input_h", "input_c")}
    int8 = raw_ops.PackQuantizedLayerRNN(**quantized)
    block = {
        "seq_len_max": TIME,
        "x": x,
        "cs_prev": h,
        "h_prev": h,
        "w": tf.ones([INPUTS + UNITS, 4 * UNITS]),
    }
    block |= {"wci": h[0], "wcf": h[0], "wco": h[0], "b": tf.zeros([4 * UNITS])}
    one, two = raw_ops.LayerRNN(**layer), raw_ops.CudnnRNNV3(**cudnn)
    three = raw_ops.BlockLSTMV2(**block)
    outputs = {"output": one.output, "output_h": one.output_h, "output_c": 0}
    outputs |= {"output_backprop": x, "output_h_backprop": h, "output_c_backprop": 0}
    outputs3 = {"output": two.output, "output_h": two.output_h, "output_c": 0}
    outputs3 |= {"output_backprop": x, "output_h_backprop": h3, "output_c_backprop": 0}
    outputs3 |= {"reserve_space": two.reserve_space, "host_reserved": two.host_reserved}
    count = {"num_params_weights": 6, "num_params_biases": 6}
    return {
        "LayerRNN": layer,
        "LayerRNNBackprop": {**layer, **outputs, "reserve_space": one.reserve_space},
        "LayerRNNPacked": {**layer, "packed": raw_ops.PackLayerRNN(**layer_weights)},
        "PackLayerRNN": layer_weights,
        "PackQuantizedLayerRNN": quantized,
        "QuantizedLayerRNN": {**states, **quantized, "packed": int8},
        "CudnnRNNV3": cudnn,
        "CudnnRNNBackpropV3": {**cudnn, **outputs3},
        "StatelessCudnnRNNV3": {**cudnn, "seed": np.array([1, 2])},
        "CudnnRNNV3Packed": {**cudnn, "packed": packed},
        "PackCudnnRNNParams": {"params": cudnn["params"], **sizes},
        "CudnnRNNCanonicalToParamsV2": {**sizes, **weights},
        "CudnnRNNParamsToCanonicalV2": {**sizes, "params": cudnn["params"], **count},
        "CudnnRNNParamsSize": {**sizes, "T": tf.float32, "S": tf.int32},
        "BlockLSTMV2": block,
        "BlockLSTMGradV2": {**block, **three._asdict(), "cs_grad": x, "h_grad": x}
        | {"use_peephole": False},
    }


NAMES = raw_ops.__all__
OPTIONAL = {
    "LayerRNN": ["bias", "projection", "peepholes", "layer_norm", "sequence_lengths"]
    + ["input_mask", "recurrent_mask", "seed"],
    "LayerRNNPacked": ["bias", "projection", "peepholes", "layer_norm", "sequence_lengths"],
    "PackLayerRNN": ["bias", "projection"],
    "PackQuantizedLayerRNN": ["bias", "projection", "projection_scale"],
    "QuantizedLayerRNN": ["bias", "projection", "projection_scale", "sequence_lengths"],
}
STATES_C = ("input_c", "output_c", "output_c_backprop")
OPTIONAL["LayerRNNBackprop"] = OPTIONAL["LayerRNN"]


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_none_in_place_of_nothing(name, graph, calls):
    op, given = getattr(raw_ops, name), calls[name]
    absent = dict.fromkeys(OPTIONAL.get(name, ()))
    absent |= {state: None for state in given if state in STATES_C}

    def run():
        return op(**{**given, **absent})

    got, want = tf.function(run)() if graph else run(), op(**given)
    if hasattr(want, "reserve_space"):  # parts of it may be scratch
        got, want = (result._replace(reserve_space=0) for result in (got, want))
    for one, other in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_none_in_place_of_something(name, graph, calls):
    op, given = getattr(raw_ops, name), calls[name]
    for argument, value in given.items():
        if argument in ("rnn_mode", "use_peephole", *STATES_C):
            continue
        call = tf.function(op) if graph else op
        said = f"{argument} of {name} must be given, but it is None"
        with pytest.raises(ValueError, match=said):
            call(**{**given, argument: None})
        if isinstance(value, list):
            with pytest.raises(ValueError, match=f"{argument} of {name} .* its element 1 is None"):
                call(**{**given, argument: [value[0], None, *value[2:]]})


def test_the_cell_state_of_an_lstm_is_no_optional_argument():
    lstm = {
        "input": tf.ones([TIME, BATCH, INPUTS]),
        "input_h": tf.zeros([BATCH, UNITS]),
        "input_c": None,
    }
    with pytest.raises(ValueError, match="input_c of LayerRNN must be given"):
        raw_ops.LayerRNN(
            **lstm, kernel=tf.ones([INPUTS, 16]), recurrent_kernel=tf.ones([UNITS, 16])
        )
