"""Runs the Python blocks of a page in order and compares what they print with the page."""

import json
import re

import pages

# A block of Python, and behind it what it prints.
BLOCKS = re.compile(r"^```python\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
RUNNER = """
import contextlib, io, json
names = {"__name__": "page"}
printed = []
for code in CODES:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, PAGE, "exec"), names)
    printed.append(out.getvalue())
with open("printed.json", "w") as file:
    json.dump(printed, file)
"""


def found(page):
    """Returns the Python blocks of a page, and for each the output that the page shows or None."""
    text = page.read_text()
    matches = list(BLOCKS.finditer(text))
    codes = ["\n" * text.count("\n", 0, m.start(1)) + m.group(1) for m in matches]
    return codes, [m.group(2) for m in matches]


def printed(page, folder):
    """Runs the blocks in a process of its own and returns what each of them prints."""
    codes, _ = found(page)
    pages.run([RUNNER.replace("CODES", repr(codes)).replace("PAGE", repr(page.name))], page, folder)
    return json.loads((folder / "printed.json").read_text())


def skeleton(text):
    """An output without what differs from run to run: numbers, the processor, the width of columns."""
    text = re.sub(r"^.*, threads: .*$", "processor, threads and batch", text, flags=re.MULTILINE)
    text = re.sub(r"\d+(\.\d+)?(e[+-]\d+)?", "0", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]
