"""The report of a rewrite."""

import dataclasses

from tf_rnn_ops._comparison.differences import Comparison


@dataclasses.dataclass(frozen=True)
class Change:
    """A node that was replaced.

    Attributes:
        place: Name of the function that the node is in; '' for the graph itself.
        node: Its name.
        op: Its original op.
        replacement: A description of the replacement.
    """

    place: str
    node: str
    op: str
    replacement: str


@dataclasses.dataclass(frozen=True)
class Kept:
    """A node that was not replaced.

    Attributes:
        place: Name of the function that the node is in; '' for the graph itself.
        node: Its name.
        op: Its op.
        reason: The reason.
    """

    place: str
    node: str
    op: str
    reason: str


@dataclasses.dataclass
class Report:
    """The result of a rewrite. str() returns a table.

    Attributes:
        changed: A list of Change.
        kept: A list of Kept.
        compared: A list of Comparison, empty unless a check was asked for.
    """

    changed: list[Change] = dataclasses.field(default_factory=list)
    kept: list[Kept] = dataclasses.field(default_factory=list)
    compared: list[Comparison] = dataclasses.field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing was kept and every comparison is within its tolerance."""
        return not self.kept and all(c.ok for c in self.compared)

    def __str__(self) -> str:
        lines = [f"nodes changed: {len(self.changed)}, kept: {len(self.kept)}"]
        for change in self.changed:
            lines.append(f"  changed {_where(change)}: {change.op} -> {change.replacement}")
        for kept in self.kept:
            lines.append(f"  kept    {_where(kept)}: {kept.op}, because {kept.reason}")
        for comparison in self.compared:
            verdict = "ok" if comparison.ok else "DIFFERS"
            result = comparison.fault or (
                f"largest difference {comparison.difference:.2g}, allowed {comparison.tolerance:.2g}:"
            )
            lines.append(f"  check   {comparison.name}: {result} {verdict}")
        return "\n".join(lines)


def _where(entry: Change | Kept) -> str:
    return f"{entry.place}/{entry.node}" if entry.place else entry.node
