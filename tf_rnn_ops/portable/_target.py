"""Writes a target whole or not at all."""

import contextlib
import pathlib
import secrets
import shutil
from typing import Iterator


@contextlib.contextmanager
def whole(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a path to write to, which becomes `target` if nothing fails until then.

    Otherwise nothing stays, the parents of `target` that were made included.

    Raises:
        FileExistsError: `target` exists.
    """
    if target.exists():
        raise FileExistsError(f"{target} exists; the rewritten model needs a new path.")
    made = [parent for parent in target.parents if not parent.exists()]  # the innermost first
    # Beside the target, so that it can be renamed.
    unfinished = target.with_name(f"{secrets.token_hex(4)}.{target.name}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        if target.exists():
            raise FileExistsError(f"{target} was written by another process in the meantime.")
        unfinished.rename(target)
    except BaseException:
        if unfinished.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):  # there may be none
                unfinished.unlink()
        _remove_empty(made)
        raise


def _remove_empty(folders):
    for folder in folders:
        with contextlib.suppress(OSError):  # it was not made, or others use it
            folder.rmdir()
