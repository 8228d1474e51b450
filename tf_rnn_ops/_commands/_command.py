"""The common parts of the commands: the parser, errors of one line, and the .keras file."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    import keras


def make_parser(name: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """The parser of the command `python -m tf_rnn_ops NAME`, which prints the epilog with its line breaks."""
    return argparse.ArgumentParser(
        prog=f"python -m tf_rnn_ops {name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=epilog,
    )


def run(parser: argparse.ArgumentParser, command: Callable[[], int]) -> int:
    """Runs a command. Returns its exit status, or 2 after an error, which it prints as one line."""
    try:
        return command()
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        print(f"{parser.prog}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


def load_keras(path: str | os.PathLike[str], unsafe: bool = False, advice: str = "") -> keras.Model:
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
