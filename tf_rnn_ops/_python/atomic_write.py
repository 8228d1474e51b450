"""Writes a target whole or not at all."""

import contextlib
import os
import pathlib
import secrets
import shutil
from typing import Iterator


@contextlib.contextmanager
def atomic_write(target: pathlib.Path, overwrite: bool = False) -> Iterator[pathlib.Path]:
    """Yields a temporary path, which is renamed to `target` at the end if nothing fails.

    Files that are written next to the temporary path move next to `target`. After an error or Ctrl-C no file
    remains, and what was there is unchanged.

    Args:
        target: The path.
        overwrite: Whether a file or folder of that name is replaced.

    Raises:
        FileExistsError: `target` exists, or a file with the name of one that moves next to it.
        OSError: Its folder cannot be made or written to.
    """
    if not overwrite:
        _refuse_existing(target)
    # Next to the target, so that its files can be renamed.
    folder = target.with_name(f"{secrets.token_hex(4)}.{target.name}")
    _make(folder, target)
    try:
        yield folder / target.name
        # The target last: where it is, the other files are too.
        paths = sorted(folder.iterdir(), key=lambda path: path.name == target.name)
        for path in () if overwrite else paths:
            _refuse_existing(target.with_name(path.name))
        for path in paths:
            _move(path, target.with_name(path.name))
        shutil.rmtree(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _move(path: pathlib.Path, place: pathlib.Path) -> None:
    """Moves a file or folder to a place, where another one may be."""
    if not os.path.lexists(place) or not (path.is_dir() or place.is_dir()):
        path.replace(place)
        return
    old = path.with_name(f"{path.name}.old")  # os.replace does not replace a folder
    place.rename(old)
    try:
        path.replace(place)
    except BaseException:
        old.rename(place)
        raise


def _refuse_existing(path: pathlib.Path) -> None:
    if os.path.lexists(path):  # a link to nothing, too
        raise FileExistsError(f"{path} exists; give a new path.")


def _make(folder: pathlib.Path, target: pathlib.Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise type(error)(f"{target} cannot be written: {error.strerror}.") from error
    except ValueError as error:  # a name with a null byte
        raise ValueError(f"{str(target)!r} cannot be written: {error}.") from error
