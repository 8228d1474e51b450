"""The allowed difference of an exported file from a reference in float64."""

import numpy as np

_EPS = {
    "float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7,
}  # fmt: skip
# The part of the scale of an output that weights in int8 may change, also in the 7 bits of ONNX. Swapped gates or a
# lost state change more in nearly every model. WHY not by the number of roundings: the sum of their bounds is larger
# than the outputs.
_OF_INT8 = 0.05
# Roundings of a unit in a step, without those of its sums: gates, activations, states.
_OF_A_CELL = 8
# How many standard deviations of a sum of roundings.
_DEVIATIONS = 4


def allowed(network, format, want, arrays):
    """The largest difference of an output.

    The error of a sum of N independent roundings has the standard deviation eps * sqrt(N / 12); those of the
    approximations of tanh and sigmoid are a few eps each, so eps * sqrt(N) covers them.

    Args:
        network: The Network.
        format: Of FORMATS.
        want: The output of the reference.
        arrays: The inputs.
    """
    scale = max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0.0)))
    if network.int8 == "file" or (
        network.int8 == "weights" and format in ("tf_saved_model", "rnn")
    ):
        return _OF_INT8 * scale
    steps = max(array.shape[1] for array in arrays.values() if array.ndim > 1)
    count, size = 0, network.I
    for units in network.units:
        count += steps * (size + 2 * units + _OF_A_CELL)
        size = 2 * units
    return _DEVIATIONS * _eps(network, format) * np.sqrt(count) * scale


def _eps(network, format):
    if format == "openvino" and network.compute_dtype == "float64":
        return _EPS["float32"]  # its CPU device has no float64
    return _EPS[network.compute_dtype]
