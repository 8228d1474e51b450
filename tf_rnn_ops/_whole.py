"""Writes a target whole or not at all."""

import contextlib
import pathlib
import secrets
import shutil
from typing import Iterator


@contextlib.contextmanager
def whole(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a path to write to, which becomes `target` if nothing fails until then.

    Files that are written beside that path move beside `target`. After an error nothing stays, the parents
    of `target` that were made included.

    Raises:
        FileExistsError: `target` exists, or what moves beside it.
        OSError: Its folder cannot be made or written to.
    """
    if target.exists():
        raise FileExistsError(f"{target} exists; give a new path.")
    made = [parent for parent in target.parents if not parent.exists()]  # the innermost first
    # Beside the target, so that what is in it can be renamed.
    unfinished = target.with_name(f"{secrets.token_hex(4)}.{target.name}")
    try:
        _make(unfinished, target)
        yield unfinished / target.name
        moves = [(path, target.with_name(path.name)) for path in sorted(unfinished.iterdir())]
        for _, final in moves:
            if final.exists():
                raise FileExistsError(f"{final} was written by another process in the meantime.")
        for path, final in moves:
            path.rename(final)
        unfinished.rmdir()
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        _remove_empty(made)
        raise


def _make(folder, target):
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise type(error)(f"{target} cannot be written: {error.strerror}.") from error


def _remove_empty(folders):
    for folder in folders:
        with contextlib.suppress(OSError):  # it was not made, or others use it
            folder.rmdir()
