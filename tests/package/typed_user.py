"""Calls of what is public, as a user's typed program has them. test_types.py runs mypy on it; nobody runs it."""

import keras
import numpy as np
import tensorflow as tf

import tf_rnn_ops
from tf_rnn_ops import contrib, params, raw_ops
from tf_rnn_ops import keras as rnn


def top_level() -> list[str]:
    tf_rnn_ops.enable_block_cell_gradients()
    return [tf_rnn_ops.get_lib(), tf_rnn_ops.get_stock_lib(), *tf_rnn_ops.enable_stock_ops()]


def ops(x: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
    size = raw_ops.CudnnRNNParamsSize(
        num_layers=1, num_units=3, input_size=2, T=tf.float32, S=tf.int32
    )
    result = raw_ops.CudnnRNNV3(
        input=x, input_h=state, input_c=None, params=tf.zeros(size), sequence_lengths=[5, 3]
    )
    layer = raw_ops.LayerRNN(
        input=x,
        input_h=state,
        input_c=state,
        kernel=np.ones(3),
        recurrent_kernel=[[1.0]],
        bias=None,
    )
    return result.output + layer.output_h


def layers() -> keras.Model:
    stack = rnn.CudnnLSTM(4, num_layers=2, return_sequences=True)
    own = rnn.ProjectedLSTM(4, num_proj=2, dtype="float32")
    cells = rnn.RNN([rnn.ZoneoutLSTMCell(4), rnn.PeepholeLSTMCell(4, cell_clip=1.0)])
    model = keras.Sequential([rnn.LSTM(4, return_sequences=True), stack, own, cells])
    with rnn.accelerate() as acceleration:
        acceleration.restore()
    rnn.restore()
    print([row.path for row in rnn.explain(model)], rnn.compare(model, np.ones(3)).timings[0].ratio)
    copy: keras.Model = rnn.convert(model, to="keras")
    return copy


def weights(model: keras.Model) -> dict[str, np.ndarray]:
    layout, buffer = params.from_keras(model)
    converted = params.from_torch(params.to_torch(layout, buffer))
    nodes = params.to_onnx(converted.layout, converted.params)
    print(
        params.from_onnx(nodes), params.to_keras(layout, buffer)[0][0].shape, rnn.from_onnx(nodes)
    )
    print(params.from_cudnn_layer(model), params.from_lstm_cell(buffer, buffer)[0].shape)
    stack = rnn.CudnnGRU.from_converted(converted, return_sequences=True)
    print(stack.get_initial_state(3))
    return params.to_torch(params.Layout("gru", 1, 3, 2, direction="bidirectional"), buffer)


def of_tensorflow_1(x: tf.Tensor) -> tf.Tensor:
    model = contrib.CudnnLSTM(num_layers=1, num_units=4, input_size=3)
    buffer = tf.Variable(tf.zeros([model.params_size()]))
    contrib.CudnnLSTMSaveable(buffer, 1, 4, 3)
    outputs, states = contrib.layers.CudnnGRU(num_layers=1, num_units=4)(x)
    print(
        states, contrib.CudnnCompatibleLSTMCell(4), contrib.CudnnParamsFormatConverterGRU(1, 4, 3)
    )
    return outputs


def facts() -> str:
    return "\n".join(f"{title} {text}" for title, text in tf_rnn_ops.info())
