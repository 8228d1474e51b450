"""Child process: prints the MiB that a model with 64 MiB of float weights needs before and after it is quantized.

Usage: python -m quantized_memory WHAT, with TF_ENABLE_ONEDNN_OPTS=0, since otherwise TensorFlow keeps freed memory. WHAT:

    model      a model that has predicted is quantized
    layers     layers that have been called are quantized
    function   layers of a model that has predicted are quantized, then the function is made again
"""

import gc
import resource
import sys

import keras
import numpy as np

import tf_rnn_ops.keras as ours
from tf_rnn_ops.keras.dispatch.quantized import trim_heap

UNITS = 1024


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


def made(units, layers=1):
    rnns = [
        ours.LSTM(units, return_sequences=True, recurrent_initializer="zeros")
        for _ in range(layers)
    ]
    return keras.Sequential([keras.Input((None, units)), *rnns])


def use(what, model):
    """Uses and quantizes a model. Yields after each stage."""
    x = np.zeros((1, 2, model.input_shape[-1]), "float32")
    call = model if what == "layers" else lambda x: model.predict(x, verbose=0)
    call(x)
    yield
    if what in ("layers", "function"):
        for layer in model.layers:
            layer.quantize("int8")
    else:
        model.quantize("int8")
    yield
    if what == "function":
        model.make_predict_function(force=True)
    gc.collect()
    call(x)
    trim_heap()
    yield


def main():
    what = sys.argv[1]
    for _ in use(what, made(8)):  # what a process needs once
        pass
    before = resident()
    print(*(resident() - before for _ in use(what, made(UNITS, layers=2))))


if __name__ == "__main__":
    main()
