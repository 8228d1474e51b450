"""Writes a target whole or not at all."""

import contextlib
import pathlib
import secrets
import shutil
from typing import Iterator


@contextlib.contextmanager
def whole(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a path to write to, which becomes `target` if nothing fails until then.

    Raises:
        FileExistsError: `target` exists.
    """
    if target.exists():
        raise FileExistsError(f"{target} exists; the rewritten model needs a new path.")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, so that it can be renamed.
    unfinished = target.with_name(f"{secrets.token_hex(4)}.{target.name}")
    try:
        yield unfinished
        if target.exists():
            raise FileExistsError(f"{target} was written by another process in the meantime.")
        unfinished.rename(target)
    except BaseException:
        if unfinished.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
        else:
            unfinished.unlink(missing_ok=True)
        raise
