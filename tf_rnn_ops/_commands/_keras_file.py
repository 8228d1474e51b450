"""Loads the .keras file that a command gets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras


def load(path: str | os.PathLike[str], unsafe: bool = False, advice: str = "") -> keras.Model:
    """The model of a file.

    Args:
        path: The file.
        unsafe: Whether to load Lambda layers and other code.
        advice: A sentence for a file that needs unsafe=True.

    Raises:
        ValueError: There is no such file, or it cannot be read.
    """
    import keras

    import tf_rnn_ops.keras  # noqa: F401 - the classes of its layers
    from tf_rnn_ops._one_line import one_line

    try:
        return keras.saving.load_model(path, safe_mode=not unsafe)
    except Exception as error:  # a broken file raises errors of any kind
        more = f" {advice}" if advice and "safe_mode" in str(error) else ""
        raise ValueError(f"{path} cannot be read: {one_line(error)}{more}") from error
