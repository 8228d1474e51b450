"""Registers the ops, and what belongs to them, with TensorFlow once it has been imported."""

import pathlib
import sys
import warnings

from tf_rnn_ops._python import import_hook
from tf_rnn_ops.native import loader, xla

# A registration imports modules that import TensorFlow: they must not begin another one.
_begun = False


def install() -> None:
    """Registers now if TensorFlow is imported, otherwise at its import. Without TensorFlow nothing happens."""
    if sys.modules.get("tensorflow", import_hook) is not None:
        import_hook.after_import("tensorflow", _register)


def _register() -> None:
    global _begun
    if _begun:
        return
    _begun = True
    try:
        _register_all()
    except BaseException:
        _begun = False  # a later import may succeed
        raise


def _register_all() -> None:
    if reason := loader.unavailable():
        warnings.warn(
            f"{reason} Without it the Keras layers run Keras's implementation, tf_rnn_ops.params converts "
            "weights, and the ops raise an error.",
            stacklevel=2,
        )
        return
    # These modules register gradients and converters.
    from tf_rnn_ops.autodiff import gradients, second_gradients, vectorized  # noqa: F401

    if (reason := xla.unavailable()) and pathlib.Path(xla.library_path()).exists():
        warnings.warn(f"{reason} Without it XLA cannot compile the ops.", stacklevel=2)
