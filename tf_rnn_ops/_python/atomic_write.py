"""Writes a target whole or not at all."""

import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import threading
from typing import Callable, Iterator


@contextlib.contextmanager
def atomic_write(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields a temporary path, which is renamed to `target` at the end if nothing fails.

    Files that are written next to the temporary path move next to `target`. After an error, Ctrl-C or
    SIGTERM no file remains, and no parent of `target` that this function made.

    Raises:
        FileExistsError: `target` exists, or a file with the name of one that moves next to it.
        OSError: Its folder cannot be made or written to.
    """
    _refuse_existing(target)
    # The innermost first.
    new_folders = [parent for parent in target.parents if not parent.exists()]
    # Next to the target, so that its files can be renamed.
    unfinished = target.with_name(f"{secrets.token_hex(4)}.{target.name}")
    with _cleaning_up_at_sigterm() as check:
        yield from _written(target, unfinished, new_folders, check)


def _written(
    target: pathlib.Path,
    unfinished: pathlib.Path,
    new_folders: list[pathlib.Path],
    check: Callable[[], None],
) -> Iterator[pathlib.Path]:
    moved: list[pathlib.Path] = []
    try:
        _make(unfinished, target)
        yield unfinished / target.name
        check()
        moves = [(path, target.with_name(path.name)) for path in sorted(unfinished.iterdir())]
        for _, final in moves:
            _refuse_existing(final)
        for path, final in moves:
            path.rename(final)
            moved.append(final)
        unfinished.rmdir()
    except BaseException:
        for final in moved:
            with contextlib.suppress(OSError):
                final.rename(unfinished / final.name)
        shutil.rmtree(unfinished, ignore_errors=True)
        _remove_empty(new_folders)
        raise


class _Terminated(BaseException):
    """SIGTERM came."""


@contextlib.contextmanager
def _cleaning_up_at_sigterm() -> Iterator[Callable[[], None]]:
    """Lets SIGTERM end the process only behind the `finally` and `except` of the block.

    Yields a function that raises an exception if SIGTERM came. If the program handles SIGTERM itself, or in
    another thread than the main one, nothing changes.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield lambda: None
        return
    process = os.getpid()
    came: list[int] = []

    def terminate(number: int, frame: object) -> None:
        if os.getpid() != process:  # a child has the handler, but not the files
            _end()
        came.append(number)
        raise _Terminated

    def check() -> None:
        if came:  # a library has caught the exception
            raise _Terminated

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield check
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if came:
            _end()


def _end() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)


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


def _remove_empty(folders: list[pathlib.Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):  # it was not made, or has other files
            folder.rmdir()
