"""Random models of windows: layers that need the whole sequence, in any order."""

from typing import Any

import keras
import numpy as np

import tf_rnn_ops.keras as rnn
from support.models import drawn

L = keras.layers


class Drawing:
    """A random model, and windows for it.

    Attributes:
        model: The model, with random weights.
        batch: An array of three windows.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        time = int(self._rng.integers(4, 14))
        x, y, self.batch = self._input(time)
        for _ in range(int(self._rng.integers(1, 5))):
            y = self._layer(y)
        y = self._end(y)
        self.model = drawn(keras.Model(x, y))

    def _one_of(self, *choices: Any) -> Any:
        return choices[self._rng.integers(len(choices))]

    def _units(self) -> int:
        return int(self._one_of(1, 2, 3, 5, 8, 17))

    def _input(self, time: int) -> tuple[Any, Any, np.ndarray]:
        """An input, its sequence, and windows."""
        lengths = self._rng.integers(0, time + 1, 3)
        beyond = np.arange(time) >= lengths[:, None]
        if self._one_of(True, False):
            x = keras.Input((time,), name="words", dtype="int32")
            words = self._rng.integers(1, 9, (3, time))
            masked = self._one_of(True, False)
            words[beyond & masked] = 0
            return x, L.Embedding(9, self._units(), mask_zero=masked)(x), words.astype(np.int32)
        size = self._units()
        x = keras.Input((time, size), name="x")
        array = self._rng.standard_normal((3, time, size)).astype(np.float32)
        if not self._one_of(True, False):
            return x, x, array
        array[beyond] = 0.5
        return x, L.Masking(0.5)(x), array

    def _recurrent(self, sequences: bool) -> Any:
        kinds = (L.LSTM, L.GRU, L.SimpleRNN, rnn.LSTM, rnn.PeepholeLSTM, rnn.ZoneoutGRU)
        arguments = {"return_sequences": sequences}
        kind = self._one_of(*kinds)
        if kind is rnn.ZoneoutGRU:
            arguments["zoneout_h"] = 0.2
        layer = kind(self._units(), **arguments)
        if self._one_of(True, False):
            return L.Bidirectional(layer, merge_mode=self._one_of("concat", "sum", "mul", "ave"))
        return layer

    def _layer(self, x: Any) -> Any:
        """A layer from a sequence to a sequence."""
        time, size = x.shape[1:]
        kind = self._rng.integers(12)
        if kind < 4:
            return self._recurrent(True)(x)
        if kind == 4:
            padding = self._one_of("same", "causal", "valid")
            width = int(self._rng.integers(1, min(4, time) + 1))
            stride = int(self._one_of(1, 1, 2, 3))
            dilation = 2 if stride == 1 and 2 * width <= time and self._one_of(True, False) else 1
            return L.Conv1D(
                self._units(),
                width,
                padding=padding,
                strides=stride,
                dilation_rate=dilation,
                activation=self._one_of(None, "relu"),
            )(x)
        if kind == 5:
            pooling = self._one_of(L.MaxPooling1D, L.AveragePooling1D)
            width = int(self._rng.integers(1, min(3, time) + 1))
            return pooling(width, self._one_of(None, 1, 2), self._one_of("same", "valid"))(x)
        if kind == 6:
            y = self._recurrent(False)(x)
            return L.RepeatVector(int(self._one_of(1, 3, 6)))(y)
        if kind == 7:
            return L.TimeDistributed(L.Dense(self._units(), activation="tanh"))(x)
        if kind == 8:
            kinds = [L.LayerNormalization, L.BatchNormalization]
            if getattr(x, "_keras_mask", None) is None:
                kinds.append(L.Softmax)
            return self._one_of(*kinds)()(x)
        if kind == 9:
            return L.Concatenate()([x, self._recurrent(True)(x)])
        if kind == 10:
            return L.Permute((2, 1))(L.Dense(self._units())(x))
        return L.Add()([L.Dense(size)(x), L.Dropout(0.1)(x)])

    def _end(self, x: Any) -> Any:
        kind = self._rng.integers(6)
        if kind == 0:
            return x
        if kind == 1:
            x = L.GlobalAveragePooling1D()(x)
        elif kind == 2:
            x = L.GlobalMaxPooling1D()(x)
        elif kind == 3:
            x = L.Flatten()(x)
        elif kind == 4:
            x = self._recurrent(False)(x)
        else:
            x = L.Concatenate()([L.GlobalMaxPooling1D()(x), L.GlobalAveragePooling1D()(x)])
        return L.Dense(self._units(), activation=self._one_of(None, "softmax", "sigmoid"))(x)
