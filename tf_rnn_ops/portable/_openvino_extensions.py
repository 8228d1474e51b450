"""OpenVINO's extensions for our ops, for users that call OpenVINO's converter."""

import importlib.util
from typing import Any


def openvino_extensions() -> list[Any]:
    """The extensions of openvino.convert_model for models with our ops or TensorFlow's CudnnRNN ops.

    Each layer becomes an LSTMSequence, GRUSequence or RNNSequence. If OpenVINO has no such node for a
    network, convert_model raises an error with the reason; tf_rnn_ops.keras.export writes the network as a
    loop. Give convert_model the model that tf.saved_model.load returns. In a folder OpenVINO cannot
    distinguish the outputs of our ops, and convert_model raises an error.

    Returns:
        A list for its argument `extension`.

    Raises:
        ImportError: OpenVINO is not installed.

    Example:
        >>> import importlib.util
        >>> import os
        >>> import tempfile
        >>> import keras
        >>> import tensorflow as tf
        >>> import tf_rnn_ops.portable
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), tf_rnn_ops.keras.LSTM(4)])
        >>> if importlib.util.find_spec("openvino"):
        ...     import openvino
        ...     with tempfile.TemporaryDirectory() as folder:
        ...         model.export(folder, verbose=False)
        ...         converted = openvino.convert_model(
        ...             tf.saved_model.load(folder), extension=tf_rnn_ops.portable.openvino_extensions())
        ...     assert "LSTMSequence" in {op.get_type_name() for op in converted.get_ops()}
    """
    if importlib.util.find_spec("openvino") is None:
        raise ImportError(
            "openvino_extensions() needs the package openvino: pip install 'tf_rnn_ops[openvino]'"
        )
    from tf_rnn_ops.portable.openvino import telemetry

    with telemetry.off():  # importing OpenVINO sends an event
        from tf_rnn_ops.portable.openvino.converting import extensions

    return extensions()
