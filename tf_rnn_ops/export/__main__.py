"""`python -m tf_rnn_ops.export MODEL FILE`: writes a saved model as a file for another runtime."""

import argparse
import pathlib
import sys

from tf_rnn_ops.export import formats

# {ending of the target's name: format}.
_ENDINGS = {".onnx": "onnx", ".tflite": "litert", ".xml": "openvino"}

_EPILOG = """\
For a Keras model, the command runs the file, compares it with the model and prints the difference.
For a SavedModel, it runs nothing.

Example: python -m tf_rnn_ops.export model.keras model.onnx
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
    name = options.format or _ENDINGS.get(pathlib.Path(options.target).suffix, formats.SAVED_MODEL)
    try:
        print(_export(options, name))
    except (ImportError, OSError, TypeError, ValueError) as error:
        print(f"{parser.prog}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _make_parser():
    parser = argparse.ArgumentParser(
        prog="python -m tf_rnn_ops.export",
        description="Write a saved model for another runtime, with a node for each recurrent layer.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "model", help="a .keras file, as model.save() writes it, or the folder of a SavedModel"
    )
    parser.add_argument("target", help="file or folder to write; must not exist yet")
    parser.add_argument(
        "--format",
        choices=formats.FORMATS,
        help="what to write (default: by the end of the target's name, .onnx, .tflite or .xml; otherwise "
        "tf_saved_model)",
    )
    parser.add_argument(
        "--signature",
        metavar="NAME",
        help="signature of a SavedModel (default: serving_default)",
    )
    parser.add_argument(
        "--quantize",
        choices=("int8",),
        help="store weights in 8 bits (default: keep their values)",
    )
    parser.add_argument(
        "--no-loops",
        action="store_true",
        help="raise an error if a layer has no node and becomes a loop of ordinary ops",
    )
    parser.add_argument("--no-verify", action="store_true", help="do not run the models")
    return parser


def _export(options, name):
    """The report as text."""
    how = {"loops": not options.no_loops, "quantize": options.quantize}
    if not pathlib.Path(options.model).is_dir():
        return _export_keras(options, name, how)
    from tf_rnn_ops import _whole
    from tf_rnn_ops.export import rewriting

    if not (pathlib.Path(options.model) / "saved_model.pb").is_file():
        raise ValueError(
            f"{pathlib.Path(options.model)} is not a SavedModel: it has no saved_model.pb."
        )
    module = formats.writer(name)
    with _whole.whole(pathlib.Path(options.target)) as unfinished:
        signature = options.signature or "serving_default"
        nodes = module.write(options.model, str(unfinished), signature=signature, **how)
        if name != formats.SAVED_MODEL:
            nodes += rewriting.loops_of(options.model, signature, how["loops"])
    lines = [f"{options.target}: {name}"]
    for node in nodes:
        reason = f", because {node.reason}" if node.reason else ""
        note = f"; {node.note}" if node.note else ""
        lines.append(f"  {node.name}: {node.op} -> {node.became}{reason}{note}")
    return "\n".join(lines)


def _export_keras(options, name, how):
    if options.signature is not None:
        raise ValueError("--signature is for a SavedModel, but MODEL is a file.")
    import keras

    from tf_rnn_ops.keras import export

    try:
        model = keras.saving.load_model(options.model)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"{options.model} cannot be read: {error}") from error
    return str(
        export(model, options.target, name, verify=not options.no_verify, print_fn=None, **how)
    )


if __name__ == "__main__":
    sys.exit(main())
