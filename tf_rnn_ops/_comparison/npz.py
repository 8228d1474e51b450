"""Reads the files of np.savez that users give as verify_inputs."""

import os
import pickle
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from tf_rnn_ops._python.one_line import one_line


def arrays_of(path: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """{name: array} of a file.

    Raises:
        ValueError: There is no such file, or np.savez has not written it.
    """
    path = os.path.expanduser(path)
    if not os.path.exists(path):
        raise ValueError(f"verify_inputs: {os.fspath(path)} does not exist.")
    try:
        with np.load(path) as file:
            return dict(file)
    except (
        AttributeError,  # a file of np.save
        EOFError,
        OSError,
        TypeError,
        ValueError,
        pickle.UnpicklingError,
        zipfile.BadZipFile,
    ) as error:
        raise ValueError(
            f"verify_inputs: {path} is not a file of np.savez: {one_line(error)}"
        ) from error
