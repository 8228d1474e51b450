"""`python -m tf_rnn_ops info`: prints facts about this machine, or the content of the file of a stepper."""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import TYPE_CHECKING, Any, Sequence

from tf_rnn_ops._commands import _command

if TYPE_CHECKING:
    from tf_rnn_ops.stepper import Tensor

_EPILOG = """\
Examples:
  python -m tf_rnn_ops info
  python -m tf_rnn_ops info model.rnn
"""


def main(argv: list[str] | None = None) -> int:
    """Prints the facts. Never imports TensorFlow for a file.

    Args:
        argv: The arguments; None for the arguments of the process.

    Returns:
        The exit status: 2 if the file cannot be read.
    """
    parser = _command.make_parser(
        "info",
        "Print versions, CPU features and devices, and why a library is missing; or the content of a .rnn file.",
        _EPILOG,
    )
    parser.add_argument(
        "file",
        nargs="?",
        type=pathlib.Path,
        help="a .rnn file, as export() and Stepper.save() write it",
    )
    options = parser.parse_args(argv)
    return _command.run(parser, options, lambda: _info(options))


def _info(options: argparse.Namespace) -> int:
    """Prints the facts. Returns the exit status."""
    from tf_rnn_ops.native import diagnosis

    if hasattr(sys.stdout, "reconfigure"):  # the encoding may lack characters of a path
        sys.stdout.reconfigure(errors="backslashreplace")
    facts = diagnosis.info() if options.file is None else _facts_of(options.file)
    width = max(len(title) for title, _ in facts)
    for title, text in facts:
        print(f"{title:<{width}}  {text}")
    return 0


def _facts_of(file: pathlib.Path) -> list[tuple[str, str]]:
    """The content of a file for a stepper, in the form of diagnosis.info()."""
    from tf_rnn_ops import stepper
    from tf_rnn_ops._step import file_format

    path = _command.existing(file)
    loaded = stepper.load(path)
    content = path.read_bytes()
    graph = file_format.graph(content)
    sizes = {"B": graph["batch_size"], "T": graph.get("window", graph.get("time"))}
    of_call = "T, the steps of a call" if loaded.streaming else "T, the steps of a window"
    names = {letter: letter if size is None else str(size) for letter, size in sizes.items()}

    def shape(dims: tuple[int, ...], has_time: bool) -> str:
        leading = [names["B"], names["T"]] if has_time else [names["B"]]
        return f"[{', '.join([*leading, *map(str, dims[len(leading) :])])}]"

    def lines(kind: str, tensors: Sequence[Tensor]) -> list[tuple[str, str]]:
        return [
            (f"{kind} {tensor.name}", f"{tensor.dtype} {shape(tensor.shape, tensor.has_time)}")
            for tensor in tensors
        ]

    return [
        ("File", f"{path}, {len(content):,} bytes"),
        ("B, the streams of a call", _any_or(sizes["B"])),
        (of_call, _any_or(sizes["T"])),
        ("Fingerprint", loaded.fingerprint or "none"),
        *((f"Metadata {key}", text) for key, text in loaded.metadata.items()),
        *lines("Input", loaded.inputs),
        *lines("Output", loaded.outputs),
        *(
            (f"State {name}", f"{array.dtype} {shape(array.shape, has_time=False)}")
            for name, array in loaded.states.items()
        ),
        *((f"Node {node['name']}", _described(node)) for node in graph["nodes"]),
    ]


def _any_or(size: int | None) -> str:
    return "any" if size is None else str(size)


def _described(node: dict[str, Any]) -> str:
    """The op of a node, and which one of its kind."""
    fields = node | node.get("attrs", {})
    more = [fields[key] for key in ("kind", "rnn_mode", "function", "activation") if key in fields]
    return f"{node['op']} ({', '.join(more)})" if more else str(node["op"])
