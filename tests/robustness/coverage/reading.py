"""Reads gcov's JSON: which lines ran, and which branches were taken, over all objects."""

import collections
import dataclasses
import gzip
import json
import pathlib
import subprocess
import tempfile

from support.native_build import ROOT


@dataclasses.dataclass
class Line:
    """A line of a source file, over all programs and template instances."""

    count: int = 0
    # For each form of the line a tuple for each choice: how often each branch was taken. Instances of a
    # template differ in form where a condition is known when they are compiled.
    forms: dict = dataclasses.field(default_factory=dict)

    def add(self, count, choices):
        self.count += count
        form = tuple(map(len, choices))
        known = self.forms.get(form, [(0,) * n for n in form])
        self.forms[form] = [
            tuple(a + b for a, b in zip(*pair, strict=True))
            for pair in zip(known, choices, strict=True)
        ]

    def missed(self):
        """The choices with a branch that was never taken, except choices that do not count.

        A choice that was never reached, on a line that ran, is the compiler's own in the code that
        cleans up after an exception; or it follows, on the same line, another that is missed too.
        """
        found = [choice for choices in self.forms.values() for choice in choices]
        return [c for c in found if 0 in c and (any(c) or self.count == 0)]

    def choices(self):
        return sum(len(choices) for choices in self.forms.values())


def _choices(branches):
    """The branches of a line, one tuple for each choice.

    gcov writes the ways out of a block one behind the other: of a condition two, of which one falls
    through; of a call that may throw two, of which one is marked; of a switch any number. (Those of
    a condition behind a switch on its line cannot be told from the switch's; no line has both.)
    """
    groups, at = [], 0
    while at < len(branches):
        size = 2
        if not any(branch["fallthrough"] for branch in branches[at : at + 2]):
            while at + size < len(branches) and not any(
                branch["fallthrough"] for branch in branches[at + size : at + size + 2]
            ):
                size += 1
        groups.append(branches[at : at + size])
        at += size
    real = [group for group in groups if len(group) > 1 and not any(b["throw"] for b in group)]
    return [tuple(b["count"] for b in group) for group in real]


def _project_path(name, folder):
    path = pathlib.Path(name)
    path = path if path.is_absolute() else pathlib.Path(folder) / path
    try:
        return path.resolve().relative_to(ROOT).as_posix()
    except ValueError:
        return None


def read(*folders):
    """{path in the project: {number: Line}} of all .gcno files below the folders."""
    files = collections.defaultdict(lambda: collections.defaultdict(Line))
    notes = [path.resolve() for folder in folders for path in pathlib.Path(folder).rglob("*.gcno")]
    for path in sorted(notes):
        with tempfile.TemporaryDirectory() as folder:
            command = ["gcov", "--json-format", "--branch-probabilities", str(path)]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            for report in pathlib.Path(folder).glob("*.gcov.json.gz"):
                with gzip.open(report) as file:
                    _add(json.load(file), files)
    return files


def _add(report, files):
    for file in report["files"]:
        path = _project_path(file["file"], report["current_working_directory"])
        if path is not None and path.startswith("cc/"):
            for line in file["lines"]:
                files[path][line["line_number"]].add(line["count"], _choices(line["branches"]))
