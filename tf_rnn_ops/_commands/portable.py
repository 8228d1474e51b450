"""The command line of tf_rnn_ops.portable."""

from __future__ import annotations

import argparse
import pathlib
from typing import TYPE_CHECKING, Any

from tf_rnn_ops._commands import _command
from tf_rnn_ops._python.one_line import one_line

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef

    from tf_rnn_ops.portable import Report

_EPILOG = """\
The check runs the model before and after, and compares the results:
- A SavedModel runs with all its signatures. The inputs are random, or the arrays of --verify-inputs, which
  have the names of the arguments.
- A GraphDef is checked only with --outputs. The arrays of --verify-inputs have the names of its
  placeholders. "x" means the tensor "x:0".

The exit status is 0 if all CudnnRNN ops were replaced and the results agree, 1 if not, and 2 after an error.

Example: python -m tf_rnn_ops portable trained_on_a_gpu for_any_server
"""


def main(argv: list[str] | None = None) -> int:
    """Rewrites a model and prints the report.

    Args:
        argv: The arguments; None for the arguments of the process.

    Returns:
        The exit status.
    """
    parser = _make_parser()
    options = parser.parse_args(argv)
    return _command.run(parser, options, lambda: _rewrite(options))


def _rewrite(options: argparse.Namespace) -> int:
    """Rewrites the model and prints the report. Returns the exit status."""
    from tf_rnn_ops import portable

    options.source = _command.existing(options.source)
    _refuse_idle_flags(options)
    arguments: dict[str, Any] = {
        "inference": options.inference,
        "clear_devices": options.clear_devices,
    }
    if options.source.is_dir():
        arguments |= {"verify": not options.no_verify, "verify_inputs": options.verify_inputs}
        report = portable.rewrite_saved_model(options.source, options.target, **arguments)
    else:
        report = _rewrite_file(options, arguments)
    print(report)
    if not report.compared and not options.no_verify:
        print(f"  not checked: {_why_not_checked(options)}")
    return 0 if report.ok else 1


def _make_parser() -> argparse.ArgumentParser:
    parser = _command.make_parser(
        "portable",
        "Replace the CudnnRNN ops of a SavedModel or GraphDef, and the ops of this package, so that it "
        "runs without cuDNN.",
        _EPILOG,
    )
    parser.add_argument(
        "source",
        type=pathlib.Path,
        help="folder of a SavedModel, or file of a GraphDef (.pb, or .pbtxt for text)",
    )
    parser.add_argument(
        "target", type=pathlib.Path, help="folder or file to write; must not exist yet"
    )
    parser.add_argument(
        "--inference",
        action="store_true",
        help="also replace ops that train with dropout, without the dropout",
    )
    parser.add_argument(
        "--clear-devices",
        action="store_true",
        help="remove the device of each node, such as /GPU:0",
    )
    _command.add_verify(parser)
    parser.add_argument(
        "--outputs",
        nargs="+",
        metavar="TENSOR",
        help="tensors of a GraphDef that the check compares (default: no check)",
    )
    _command.add_import(parser)
    return parser


def _refuse_idle_flags(options: argparse.Namespace) -> None:
    """Raises ValueError for a flag without effect."""
    flags = {"--verify-inputs": options.verify_inputs, "--outputs": options.outputs}
    checks = [flag for flag, value in flags.items() if value is not None]
    if options.no_verify and checks:
        raise ValueError(f"{checks[0]} has no effect with --no-verify: leave out one of the two.")
    if options.outputs is not None and options.source.is_dir():
        raise ValueError(
            "--outputs is for a GraphDef: all outputs of the signatures of a SavedModel are compared."
        )
    if checks == ["--verify-inputs"] and options.source.is_file():
        raise ValueError(
            "--verify-inputs has no effect on a GraphDef without --outputs: name the tensors."
        )


def _why_not_checked(options: argparse.Namespace) -> str:
    if options.source.is_dir():
        return "the model has no signature with an output, so run both models yourself."
    return "give --outputs TENSOR ..., and --verify-inputs FILE.npz if the graph has placeholders."


def _rewrite_file(options: argparse.Namespace, arguments: dict[str, Any]) -> Report:
    from tf_rnn_ops import portable
    from tf_rnn_ops._python import atomic_write

    graph_def = _read(options.source)
    result, report = portable.rewrite_graph_def(graph_def, **arguments)
    with atomic_write.atomic_write(options.target) as unfinished:
        if options.outputs and not options.no_verify:
            report.compared = portable.verify_graph_def(
                graph_def, result, options.verify_inputs or {}, options.outputs
            )
        _write(unfinished, result)
    return report


def _is_text(path: pathlib.Path) -> bool:
    return path.suffix.lower() == ".pbtxt"


def _read(path: pathlib.Path) -> GraphDef:
    from google.protobuf import message, text_format
    from tensorflow.core.framework import graph_pb2

    graph_def = graph_pb2.GraphDef()
    try:
        if _is_text(path):
            text_format.Parse(path.read_text(), graph_def)
        else:
            graph_def.ParseFromString(path.read_bytes())
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a GraphDef: {one_line(error)}") from error
    if not graph_def.node:  # an empty file, or a file of another kind, may also be parsed
        raise ValueError(
            f"{path} must hold a GraphDef with nodes, but it has none. For a SavedModel give the folder."
        )
    return graph_def


def _write(path: pathlib.Path, graph_def: GraphDef) -> None:
    from google.protobuf import text_format

    if _is_text(path):
        path.write_text(text_format.MessageToString(graph_def))
    else:
        path.write_bytes(graph_def.SerializeToString())
