"""The common parts of the commands: the parser, errors of one line, and the .keras file."""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import sys
import traceback
from typing import TYPE_CHECKING, Callable

from tf_rnn_ops._python.one_line import one_line

if TYPE_CHECKING:
    import keras


def make_parser(name: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """The parser of the command `python -m tf_rnn_ops NAME`, which prints the epilog with its line breaks."""
    parser = argparse.ArgumentParser(
        prog=f"python -m tf_rnn_ops {name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=epilog,
    )
    parser.add_argument(
        "--traceback",
        action="store_true",
        help="also print where an error was raised, for the report of a fault",
    )
    return parser


def add_import(parser: argparse.ArgumentParser) -> None:
    """Adds the argument of the commands that load a model."""
    parser.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="module of yours to import before the model is loaded, for the classes and ops that it registers; may be "
        "repeated",
    )


def add_unsafe(parser: argparse._ActionsContainer) -> None:
    """Adds the argument of the commands that load a .keras file."""
    parser.add_argument(
        "--unsafe",
        action="store_true",
        help="load Lambda layers and other code in the file, which may do anything",
    )


def add_verify(parser: argparse._ActionsContainer) -> None:
    """Adds the arguments of the commands that compare what they write with the model."""
    parser.add_argument(
        "--no-verify", action="store_true", help="write the target without the check"
    )
    parser.add_argument(
        "--verify-inputs",
        metavar="FILE.npz",
        help="arrays to run the models on in the check, by the names of the inputs (default: made-up batches)",
    )


def run(
    parser: argparse.ArgumentParser, options: argparse.Namespace, command: Callable[[], int]
) -> int:
    """Runs a command. Returns its exit status, or 2 after an error, which it prints as one line."""
    try:
        _import(getattr(options, "modules", []))
        return command()
    except _expected() as error:
        if options.traceback:
            traceback.print_exception(error)
        print(f"{parser.prog}: {one_line(error)}", file=sys.stderr)
        return 2


def _expected() -> tuple[type[Exception], ...]:
    """The errors of bad input. TensorFlow's are among them once something has imported TensorFlow."""
    of_graphs = getattr(sys.modules.get("tensorflow"), "errors", None)
    more = () if of_graphs is None else (of_graphs.OpError,)
    return (ImportError, OSError, RuntimeError, TypeError, ValueError, *more)


def _import(names: list[str]) -> None:
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # the module is the user's
            raise ImportError(
                f"--import: the module {name!r} cannot be imported: {one_line(error)}"
            ) from error


def existing(path: str | os.PathLike[str]) -> pathlib.Path:
    """The path of a file or folder that a user gave, with the home folder for '~'.

    Raises:
        FileNotFoundError: It does not exist.
    """
    found = pathlib.Path(path).expanduser()
    if not found.exists():
        raise FileNotFoundError(f"{found} does not exist.")
    return found


def load_keras(path: pathlib.Path, unsafe: bool) -> keras.Model:
    """The model of a file, which exists.

    Args:
        path: The file.
        unsafe: Whether to load Lambda layers and other code: the argument of add_unsafe.

    Raises:
        ValueError: The file cannot be read.
    """
    import keras

    import tf_rnn_ops.keras  # noqa: F401 - the classes of its layers

    try:
        return keras.saving.load_model(path, safe_mode=not unsafe)
    except Exception as error:  # a broken file raises errors of any kind
        raise ValueError(f"{path} cannot be read: {one_line(error)}{_advice(error)}") from error


def _advice(error: Exception) -> str:
    """A sentence on the argument that loads a model after all."""
    if "safe_mode" in str(error):
        return " --unsafe loads it."
    if "register_keras_serializable" in str(error):
        return " --import MODULE imports the module that registers it."
    return ""
