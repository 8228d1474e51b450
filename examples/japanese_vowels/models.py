"""The same speaker classifier twice: on one tf_rnn_ops layer, and on stock Keras layers."""

import keras
import numpy as np

import tf_rnn_ops
import vowels
from tf_rnn_ops.keras import CudnnLSTM

UNITS = 128
LAYERS = 2
# The size of the noise, in standard deviations of each coefficient.
NOISE = 1.0
DROPOUT = 0.5
STOCK_NAMES = ("stock_lstm_0", "stock_lstm_1")


def statistics(train):
    """Returns the mean and variance [12] of each coefficient over the valid frames."""
    valid = np.arange(train.frames.shape[1]) < train.lengths[:, None]
    frames = train.frames[valid].astype(np.float64)
    return frames.mean(axis=0), frames.var(axis=0)


def build_ours(train, seed):
    """Builds the classifier on `tf_rnn_ops.keras.CudnnLSTM`: two layers, two directions, one op.

    Args:
        train: The training `Utterances`, only for the statistics of the normalization.
        seed: The seed of the noise and the dropout. The weights use Keras's global seed.

    Returns:
        A model from {"frames": [B, T, 12], "lengths": [B]} to logits [B, 9].
    """
    frames = keras.Input((None, vowels.NUM_CEPSTRA), name="frames")
    lengths = keras.Input((), dtype="int32", name="lengths")
    x = _prepare(frames, train, seed)
    x = CudnnLSTM(UNITS, num_layers=LAYERS, direction="bidirectional", name="cudnn_lstm")(
        x, sequence_lengths=lengths
    )
    return keras.Model({"frames": frames, "lengths": lengths}, _classify(x, seed), name="ours")


def build_stock(train, seed):
    """Builds the classifier on keras.layers.Masking and two Bidirectional LSTMs.

    Args:
        train: As for `build_ours`.
        seed: As for `build_ours`.

    Returns:
        A model from {"frames": [B, T, 12]} to logits [B, 9]. Frames of zeros are padding.
    """
    frames = keras.Input((None, vowels.NUM_CEPSTRA), name="frames")
    x = _prepare(keras.layers.Masking()(frames), train, seed)
    for name in STOCK_NAMES:
        lstm = keras.layers.LSTM(UNITS, return_sequences=name != STOCK_NAMES[-1])
        x = keras.layers.Bidirectional(lstm, name=name)(x)
    return keras.Model({"frames": frames}, _classify(x, seed), name="stock")


def _prepare(x, train, seed):
    mean, variance = statistics(train)
    x = keras.layers.Normalization(mean=mean.tolist(), variance=variance.tolist())(x)
    return keras.layers.GaussianNoise(NOISE, seed=seed)(x)


def _classify(x, seed):
    x = keras.layers.Dropout(DROPOUT, seed=seed + 1)(x)
    return keras.layers.Dense(vowels.NUM_SPEAKERS, name="logits")(x)


def copy_weights(stock, ours):
    """Copies the weights of one model to the other, so that both start from the same function.

    Args:
        stock: A model of `build_stock`, the source.
        ours: A model of `build_ours`, the target.
    """
    stack = [stock.get_layer(name).get_weights() for name in STOCK_NAMES]
    converted = tf_rnn_ops.params.from_keras(stack)
    ours.get_layer("cudnn_lstm").set_weights([converted.params])
    ours.get_layer("logits").set_weights(stock.get_layer("logits").get_weights())


def inputs_of(utterances, model):
    """Returns the inputs of `model` for the utterances, a dict of arrays."""
    inputs = {"frames": utterances.frames, "lengths": utterances.lengths}
    return {tensor.name: inputs[tensor.name] for tensor in model.inputs}


def predict(model, utterances):
    """Returns the logits [B, 9], float32."""
    # WHY one batch: another batch size would need another trace.
    return model.predict(inputs_of(utterances, model), batch_size=len(utterances), verbose=0)
