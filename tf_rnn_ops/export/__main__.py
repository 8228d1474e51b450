"""`python -m tf_rnn_ops.export MODEL FILE`: writes a saved model as a file for another runtime."""

import argparse
import pathlib
import sys

from tf_rnn_ops.export import formats

# {ending of the target's name: format}.
_ENDINGS = {".onnx": "onnx", ".tflite": "litert", ".xml": "openvino"}


def main(argv: list[str] | None = None) -> int:
    """Writes a model and prints a report on its recurrent layers.

    Args:
        argv: The arguments; those of the process if None.

    Returns:
        The exit status: 2 if the model cannot be loaded or written.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tf_rnn_ops.export",
        description="Write a saved model for another runtime, with a node for each recurrent layer.",
        epilog="The results of a Keras model are compared with those of the file. A SavedModel is written unchanged, "
        "and nothing runs.",
    )
    parser.add_argument(
        "model", help="a file that model.save() wrote, or the folder of a SavedModel"
    )
    parser.add_argument("target", help="the file or folder to write; must not exist")
    parser.add_argument(
        "--format",
        choices=formats.FORMATS,
        help="the format; the default follows from the ending of TARGET, otherwise it is tf_saved_model",
    )
    parser.add_argument(
        "--signature", help="the signature of a SavedModel (default: serving_default)"
    )
    parser.add_argument("--quantize", choices=("int8",), help="weights in 8 bits")
    parser.add_argument("--no-loops", action="store_true", help="fail if a layer becomes a loop")
    parser.add_argument("--no-verify", action="store_true", help="do not run the models")
    options = parser.parse_args(argv)
    name = options.format or _ENDINGS.get(pathlib.Path(options.target).suffix, formats.SAVED_MODEL)
    try:
        print(_export(options, name))
    except (ImportError, OSError, TypeError, ValueError) as error:
        print(f"{parser.prog}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _export(options, name):
    """The report as text."""
    how = {"loops": not options.no_loops, "quantize": options.quantize}
    if not pathlib.Path(options.model).is_dir():
        return _export_keras(options, name, how)
    from tf_rnn_ops import _whole

    if not (pathlib.Path(options.model) / "saved_model.pb").is_file():
        raise ValueError(f"{options.model} is not a SavedModel: it has no saved_model.pb.")
    module = formats.writer(name)
    with _whole.whole(pathlib.Path(options.target)) as unfinished:
        signature = options.signature or "serving_default"
        nodes = module.write(options.model, str(unfinished), signature=signature, **how)
    lines = [f"{options.target}: {name}"]
    for node in nodes:
        reason = f", because {node.reason}" if node.reason else ""
        lines.append(f"  {node.name}: {node.op} -> {node.became}{reason}")
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
