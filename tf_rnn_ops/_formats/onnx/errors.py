"""The errors of tf2onnx and onnx, which are of any class."""

import contextlib
from typing import Iterator

from tf_rnn_ops._formats.onnx.nodes import CannotWrite


@contextlib.contextmanager
def of_tf2onnx() -> Iterator[None]:
    """Raises a ValueError of one sentence for an error of a call of tf2onnx."""
    try:
        yield
    except CannotWrite:  # of our handlers, which tf2onnx calls
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"tf2onnx cannot convert the model: {reason}") from error
