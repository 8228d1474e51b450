"""A line on a terminal that tells what a long function does at the moment."""

import sys
from typing import Any, Callable


class Progress:
    """The line. It is only shown if the function prints its result to a terminal.

    Use it as a context, whose end clears the line.
    """

    def __init__(self, print_fn: Callable[[str], Any] | None) -> None:
        """Shows nothing yet.

        Args:
            print_fn: The argument of the function.
        """
        self._is_shown = print_fn is print and getattr(sys.stdout, "isatty", bool)()
        self._length = 0

    def show(self, text: str) -> None:
        """Replaces the line."""
        if self._is_shown:
            print(f"\r{text.ljust(self._length)}", end="", flush=True)
            self._length = len(text)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        if self._length:
            self.show("")
            print("\r", end="", flush=True)
