"""Writes a target whole or not at all."""

import contextlib
import os
import pathlib
import secrets
import shutil
from typing import Iterator


@contextlib.contextmanager
def atomic_write(
    target: pathlib.Path, overwrite: bool | None = None, is_folder: bool = False
) -> Iterator[pathlib.Path]:
    """Yields a temporary path, which is renamed to `target` at the end if nothing fails.

    Files that are written next to the temporary path move next to `target`. After an error or Ctrl-C no file
    remains, and what was there is unchanged.

    Args:
        target: The path.
        overwrite: Whether what is there is replaced: a file by a file, a SavedModel or an empty folder by a folder. A file
            also replaces a link, and a folder a link to such a folder; the target of the link stays. None is False, for a
            caller whose users have no such argument.
        is_folder: Whether the caller writes a folder, a SavedModel. It matters only where overwrite is a bool.

    Raises:
        FileExistsError: `target` exists and is not replaced, or a file with the name of one that moves next to it.
        OSError: Its folder cannot be made or written to.
    """
    _check_place(target, overwrite, is_folder)
    # Next to the target, so that its files can be renamed.
    folder = target.with_name(f"{secrets.token_hex(4)}.{target.name}")
    _make(folder, target)
    try:
        yield folder / target.name
        # The target last: where it is, the other files are too.
        paths = sorted(folder.iterdir(), key=lambda path: path.name == target.name)
        for path in paths:
            _check_place(target.with_name(path.name), overwrite, path.is_dir())
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


def _check_place(path: pathlib.Path, overwrite: bool | None, is_folder: bool) -> None:
    """Raises FileExistsError if something is there that a file or folder does not replace."""
    if not os.path.lexists(path):  # a link to nothing exists
        return
    lost = _what_would_be_lost(path, is_folder)
    if not overwrite:
        advice = "" if overwrite is None or lost else ", or overwrite=True"
        raise FileExistsError(f"{path} exists: give a new path{advice}.")
    if lost:
        wanted = "be the folder of a SavedModel or an empty folder" if is_folder else "be a file"
        raise FileExistsError(
            f"{path} must {wanted} to be replaced, but it is {lost}: give a new path."
        )


def _what_would_be_lost(path: pathlib.Path, is_folder: bool) -> str:
    """Names the thing there if a file or folder (a SavedModel) must not replace it. Else the text is empty."""
    if path.is_symlink() and not is_folder:
        return ""
    if path.is_dir():
        if not is_folder:
            return "a folder"
        replaced = (path / "saved_model.pb").is_file() or not any(path.iterdir())
        return "" if replaced else "a folder with other content"
    if path.is_file():
        return "a file" if is_folder else ""
    return "a device or the like" if path.exists() else "a link to nothing"


def _make(folder: pathlib.Path, target: pathlib.Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise type(error)(f"{target} cannot be written: {error.strerror}.") from error
    except ValueError as error:  # a name with a null byte
        raise ValueError(f"{str(target)!r} cannot be written: {error}.") from error
