"""`python -m tf_rnn_ops compare MODEL.keras`: times a saved model on Keras's layers and on this package's."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from tf_rnn_ops._commands import _command

if TYPE_CHECKING:
    import keras

_EPILOG = """\
The batch is made up: random floats, and integers and strings that the layers of the model know.
The targets of the training step are the outputs of the model, or zeros for a sparse loss. A model that
was saved without compile trains with SGD on the mean squared error.

Example: python -m tf_rnn_ops compare model.keras --batch-size 8 --time 200
"""
# Options that are numbers: name, default, meaning.
_SIZES = (
    ("batch-size", 32, "batch size in sequences, if the model does not fix it"),
    ("time", 100, "sequence length in steps, and any other dimension that the model does not fix"),
    ("repeats", 20, "number of timed calls of each model"),
)


def main(argv: list[str] | None = None) -> int:
    """Loads a model, makes up a batch for it, and prints the table of compare().

    Args:
        argv: The arguments; None for the arguments of the process.

    Returns:
        The exit status: 2 if the model cannot be loaded or compared.
    """
    parser = _command.make_parser(
        "compare",
        "Time a saved Keras model on Keras's layers and on the layers of tf_rnn_ops.",
        _EPILOG,
    )
    parser.add_argument("model", help="a .keras file, as model.save() writes it")
    _command.add_import(parser)
    _command.add_unsafe(parser)
    for name, default, meaning in _SIZES:
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"{meaning} (default: %(default)s)"
        )
    options = parser.parse_args(argv)
    for name, _, _ in _SIZES:
        if (size := getattr(options, name.replace("-", "_"))) < 1:
            parser.error(f"--{name} must be at least 1, but it is {size}.")
    return _command.run(parser, options, lambda: _compare(options))


def _compare(options: argparse.Namespace) -> int:
    """Prints the table. Returns the exit status."""
    from tf_rnn_ops._comparison import random_batch
    from tf_rnn_ops.keras import compare

    model = _command.load_keras(_command.existing(options.model), options.unsafe)
    if not model.compiled:
        model.compile("sgd", "mean_squared_error")
    x = random_batch.batch_for(
        model, _inputs(model), options.batch_size, options.time, padded=False
    )
    names = getattr(model, "output_names", None)  # only functional models have names
    y = _targets(model.loss, model.predict_on_batch(x), names)
    compare(model, x, y, repeats=options.repeats)
    return 0


def _inputs(model: keras.Model) -> object:
    """The symbolic inputs of a model, in the model's structure."""
    if len(getattr(model, "inputs", None) or ()) == 1:
        return model.inputs[0]
    try:
        return model.input
    except AttributeError:
        raise ValueError(
            "The file does not describe the inputs of the model, because the model has a class of its own. "
            "Call tf_rnn_ops.keras.compare(model, x, y) in Python."
        ) from None


def _targets(loss: object, outputs: object, output_names: Sequence[str] | None) -> object:
    """Targets for outputs: the outputs themselves, or the first class for a sparse loss."""
    if isinstance(outputs, dict):
        return {name: _target(_loss_of(loss, name, 0), y) for name, y in outputs.items()}
    listed: list[Any] = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    names = output_names or [""] * len(listed)
    targets = [_target(_loss_of(loss, names[k], k), y) for k, y in enumerate(listed)]
    return targets if isinstance(outputs, (list, tuple)) else targets[0]


def _target(loss: object, output: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    names = (loss, type(loss).__name__, getattr(loss, "__name__", ""))
    if any("sparse" in str(name).lower() for name in names):
        return np.zeros(output.shape[:-1], "int32")
    return np.asarray(output)


def _loss_of(loss: object, name: str, number: int) -> object:
    """The loss of one output: by name from a dict, by number from a list, or the loss of all outputs."""
    if isinstance(loss, dict):
        return loss.get(name)
    return loss[number] if isinstance(loss, (list, tuple)) else loss
