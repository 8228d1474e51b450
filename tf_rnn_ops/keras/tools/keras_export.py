"""Improves the errors of Keras's model.export, whose converters lack our ops."""

import functools

import keras

from tf_rnn_ops.keras.layers.drop_in import OneOp
from tf_rnn_ops.keras.path import eligibility
from tf_rnn_ops.params.keras_internals import flatten_layers

_FORMATS = ("litert", "openvino")
_OURS = "TfRnnOps>"


def guard() -> None:
    """Makes model.export name our export function if it fails because of our ops."""
    original = keras.Model.export
    if not hasattr(original, "__wrapped__"):
        keras.Model.export = _explaining(original)


def refuse_quantized(model, format):
    """Raises ValueError if recurrent layers have int8 weights and the format is not 'tf_saved_model'."""
    for layer in flatten_layers(model) if format != "tf_saved_model" else ():
        if isinstance(layer, OneOp) and eligibility.is_quantized(layer):
            raise ValueError(
                f"The layer {layer.name!r} has int8 weights, which the export to {format!r} cannot write: use "
                "tf_rnn_ops.keras.export with quantize='int8' on the model that has not been quantized."
            )


def _explaining(original):
    @functools.wraps(original)
    def export(self, filepath, format="tf_saved_model", *args, **kwargs):
        refuse_quantized(self, format)
        try:
            return original(self, filepath, format, *args, **kwargs)
        except Exception as error:  # the converters raise errors of any kind
            if format not in _FORMATS or _OURS not in str(error):
                raise
            raise ValueError(
                f"Keras's export to {format!r} does not know the ops of tf_rnn_ops. Use "
                f"tf_rnn_ops.keras.export(model, {str(filepath)!r}, {format!r})."
            ) from error

    return export
