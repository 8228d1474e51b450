"""`python -m tf_rnn_ops info`: prints versions, CPU features and devices, and why a library is missing."""

from __future__ import annotations

import sys

from tf_rnn_ops import diagnosis
from tf_rnn_ops._commands import _command


def main(argv: list[str] | None = None) -> int:
    """Prints the facts.

    Args:
        argv: The arguments: nothing or --help; None for the arguments of the process.

    Returns:
        The exit status, 0.
    """
    parser = _command.make_parser(
        "info",
        "Print versions, CPU features and devices, and why a library is missing.",
        "Example: python -m tf_rnn_ops info",
    )
    parser.parse_args(argv)
    if hasattr(sys.stdout, "reconfigure"):  # the encoding may lack characters of a path
        sys.stdout.reconfigure(errors="backslashreplace")
    facts = diagnosis.info()
    width = max(len(title) for title, _ in facts)
    for title, text in facts:
        print(f"{title:<{width}}  {text}")
    return 0
