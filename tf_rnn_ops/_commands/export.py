"""`python -m tf_rnn_ops export MODEL FILE`: writes a saved model as a file for another runtime."""

import argparse
import pathlib
from typing import Any

from tf_rnn_ops._commands import _command
from tf_rnn_ops._formats import formats

_EPILOG = """\
For a Keras model, the command runs the file, compares it with the model and prints the difference.
For a SavedModel, it runs nothing.

Example: python -m tf_rnn_ops export model.keras model.rnn --streaming
"""


def main(argv: list[str] | None = None) -> int:
    """Writes a model and prints a report on its recurrent layers.

    Args:
        argv: The arguments; None for the arguments of the process.

    Returns:
        The exit status: 2 if the model cannot be loaded or written.
    """
    parser = _make_parser()
    options = parser.parse_args(argv)
    return _command.run(parser, options, lambda: _export(options))


def _make_parser() -> argparse.ArgumentParser:
    parser = _command.make_parser(
        "export",
        "Write a saved model for another runtime, with a node for each recurrent layer.",
        _EPILOG,
    )
    parser.add_argument(
        "model", help="a .keras file, as model.save() writes it, or the folder of a SavedModel"
    )
    parser.add_argument("target", help="file or folder to write")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace a file of that name, or for tf_saved_model the folder of a SavedModel (default: an error)",
    )
    parser.add_argument(
        "--format",
        choices=formats.FORMATS,
        help="what to write (default: by the end of the target's name, .onnx, .tflite, .xml or .rnn; "
        "tf_saved_model without an ending)",
    )
    parser.add_argument(
        "--signature",
        metavar="NAME",
        help="signature of a SavedModel (default: serving_default)",
    )
    parser.add_argument(
        "--weight-format",
        choices=("int8",),
        help="store weights in 8 bits (default: keep their values)",
    )
    parser.add_argument(
        "--no-loops",
        action="store_true",
        help="raise an error if a layer has no node and becomes a loop of ordinary ops",
    )
    parser.add_argument("--opset", type=int, help="version of the ops of ONNX (default: 18)")
    _command.add_import(parser)
    of_keras = parser.add_argument_group("for a .keras file")
    of_keras.add_argument(
        "--batch-size",
        type=int,
        metavar="B",
        help="batch size (default: the model's; 1 for LiteRT if the model's is open)",
    )
    of_keras.add_argument(
        "--time", type=int, metavar="T", help="number of steps (default: the model's)"
    )
    of_keras.add_argument(
        "--streaming",
        action="store_true",
        help="one step in each call, or T of --time, with the states as inputs and outputs",
    )
    _command.add_verify(of_keras)
    of_keras.add_argument(
        "--tolerance",
        type=float,
        metavar="D",
        help="allowed difference of each output (default: follows from the types)",
    )
    _command.add_unsafe(of_keras)
    return parser


def _export(options: argparse.Namespace) -> int:
    """Writes the model and prints the report. Returns the exit status."""
    target = pathlib.Path(options.target).expanduser()
    name = formats.of(target, options.format)
    arguments = {"loops": not options.no_loops} | formats.options(
        name, options.weight_format, options.opset
    )
    model = _command.existing(options.model)
    if model.is_dir():
        _export_saved_model(options, model, target, name, arguments)
    else:
        _export_keras(options, model, target, name, arguments)
    return 0


def _export_saved_model(
    options: argparse.Namespace,
    model: pathlib.Path,
    target: pathlib.Path,
    name: str,
    arguments: dict[str, Any],
) -> None:
    from tf_rnn_ops._formats.passes import recurrent_nodes
    from tf_rnn_ops._python import atomic_write

    if not (model / "saved_model.pb").is_file():
        raise ValueError(f"{model} is not a SavedModel: it has no saved_model.pb.")
    for flag in (
        "batch-size",
        "time",
        "streaming",
        "verify-inputs",
        "tolerance",
        "no-verify",
        "unsafe",
    ):
        value = getattr(options, flag.replace("-", "_"))
        if value is not None and value is not False:  # 0 is a value
            raise ValueError(f"--{flag} is for a .keras file, but {model} is a SavedModel.")
    if name == formats.SAVED_MODEL:
        raise ValueError(
            f"{model} is a SavedModel already: give a target that ends in .onnx, .tflite or .xml, or --format."
        )
    signature = options.signature or recurrent_nodes.DEFAULT
    module = formats.writer(name)
    lines = [f"{target}: {name}"]
    with atomic_write.atomic_write(target, options.overwrite) as unfinished:
        layers = module.write(str(model), str(unfinished), signature=signature, **arguments)
        layers += recurrent_nodes.loops_of(str(model), signature, arguments["loops"])
        if name in formats.ONE_NAMESPACE:
            lines += formats.notes_on(recurrent_nodes.names_apart(str(model), signature))
    for layer in layers:
        reason = f", because {layer.reason}" if layer.reason else ""
        note = f"; {layer.note}" if layer.note else ""
        lines.append(f"  {layer.name}: {layer.op} -> {layer.target_op}{reason}{note}")
    print("\n".join(lines))


def _export_keras(
    options: argparse.Namespace,
    path: pathlib.Path,
    target: pathlib.Path,
    name: str,
    arguments: dict[str, Any],
) -> None:
    if options.signature is not None:
        raise ValueError("--signature is for a SavedModel, but MODEL is a file.")
    if options.verify_inputs and options.no_verify:
        raise ValueError("--verify-inputs and --no-verify exclude each other.")
    from tf_rnn_ops.keras import export

    model = _command.load_keras(path, options.unsafe)
    arguments |= {
        "batch_size": options.batch_size,
        "time": options.time,
        "streaming": options.streaming,
    }
    arguments |= {
        "overwrite": options.overwrite,
        "verify": not options.no_verify,
        "verify_inputs": options.verify_inputs,
        "tolerance": options.tolerance,
    }
    export(model, target, name, **arguments)
