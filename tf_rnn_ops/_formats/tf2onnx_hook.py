"""Registers our ops with tf2onnx when tf2onnx is imported, so that importing tf_rnn_ops is enough."""

import warnings

from tf_rnn_ops._python import import_hook

_MODULE = "tf2onnx.tfonnx"  # the module of the conversion; it imports tf2onnx's handlers


def install() -> None:
    """Registers with tf2onnx now if tf2onnx is imported, otherwise at its import."""
    import_hook.after_import(_MODULE, _register)


def _register() -> None:
    try:
        from tf_rnn_ops._formats.onnx.registration import register

        register()
    except Exception as error:  # WHY any error: another version of tf2onnx must not break an import
        warnings.warn(
            f"tf_rnn_ops cannot register with this tf2onnx, which therefore does not know its ops: {error!r}.",
            stacklevel=2,
        )
