"""Reads the files of np.savez that users give as verify_inputs."""

import os
import pickle
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt


def arrays_of(path: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """{name: array} of a file.

    Raises:
        ValueError: There is no such file, or np.savez has not written it.
    """
    try:
        with np.load(os.path.expanduser(path)) as file:
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
        raise ValueError(f"verify_inputs: {path} is not a file of np.savez: {error}") from error
