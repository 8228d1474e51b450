"""Improves the errors of Keras's model.export, whose converters lack our ops."""

import functools

import keras

_FORMATS = ("litert", "openvino")
_OURS = "TfRnnOps>"


def guard() -> None:
    """Makes model.export name our export function if it fails because of our ops."""
    original = keras.Model.export
    if not hasattr(original, "__wrapped__"):
        keras.Model.export = _explaining(original)


def _explaining(original):
    @functools.wraps(original)
    def export(self, filepath, format="tf_saved_model", *args, **kwargs):
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
