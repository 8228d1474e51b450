"""Results that are shown once: printed as text, or else displayed by a shell or a notebook."""

import html


class Shown:
    """The base of the results of explain(), compare() and export().

    table() returns the table as text. So does str(), and a shell or a notebook that evaluates the result also shows
    it. If the function has already printed the table, they show one line.

    Attributes:
        printed: Whether the function that made the result has passed the table to print_fn.
    """

    printed = False

    def summary(self) -> str:
        """One line."""
        raise NotImplementedError

    def tables(self) -> list:
        """The parts to show, in order: strings, and tables, which are lists of lines with the head first."""
        raise NotImplementedError

    def table(self) -> str:
        """The parts as text."""
        return "\n".join(
            part if isinstance(part, str) else _as_text(part) for part in self.tables()
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>" if self.printed else self.table()

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str | None:
        if self.printed:
            return None  # A notebook then shows the line.
        return "".join(
            f"<p>{html.escape(part)}</p>" if isinstance(part, str) else _as_html(part)
            for part in self.tables()
        )


def _as_text(lines: list) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines
    )


def _as_html(lines: list) -> str:
    head, *rows = (
        "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in line)
        for tag, line in zip(["th"] + ["td"] * (len(lines) - 1), lines)
    )
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in [head, *rows])}</table>"
