"""Arguments of the models, layers, saveables and format converters of contrib: one table of bad ones."""

import pytest
import tensorflow as tf

from tf_rnn_ops import contrib

GOOD = {"num_layers": 2, "num_units": 4, "input_size": 3}
BAD = {
    "num_layers": [0],
    "num_units": [0, 2.5, True],
    "input_size": [None],
    "input_mode": ["skip", "skip_input"],
    "direction": ["backward"],
    "dropout": [1.5, float("nan")],
    "dtype": [tf.int32],
    "seed": ["one"],
}
# {class: the arguments that it does not have, or has no check of}.
CLASSES = {
    contrib.CudnnLSTM: ["seed"],
    contrib.layers.CudnnGRU: ["input_size"],
    contrib.CudnnLSTMSaveable: ["dropout", "dtype", "seed"],
    contrib.CudnnParamsFormatConverterGRU: ["dropout", "dtype", "seed"],
}
CASES = [
    (cls, name, value)
    for cls, absent in CLASSES.items()
    for name, values in BAD.items()
    for value in values
    # A layer learns the size of its input when it is built.
    if name not in absent and not (value == "skip_input" and "input_size" in absent)
]


@pytest.mark.parametrize(("cls", "name", "value"), CASES)
def test_bad_arguments(cls, name, value):
    arguments = GOOD | {name: value}
    if "input_size" in CLASSES[cls]:
        del arguments["input_size"]
    if cls is contrib.CudnnLSTMSaveable:
        arguments["opaque_params"] = tf.Variable([0.0])
    said = "input_size is 3 and num_units is 4" if value == "skip_input" else f"{name} must be"
    with pytest.raises(ValueError, match=said):
        cls(**arguments)
