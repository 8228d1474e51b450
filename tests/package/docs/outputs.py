"""Runs the Python and shell blocks of a page in order and compares what they print with the page."""

import json
import re

import pages

# A block of code, and behind it what it prints.
BLOCKS = re.compile(
    r"^```(python|sh)\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
RUNNER = """
import contextlib, io, json, os, subprocess, sys
names = {"__name__": "page"}
os.environ["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
printed = []
for language, code in CODES:
    if language == "sh":
        subprocess.run(["bash", "-e", "-c", code], check=True, stdout=subprocess.DEVNULL)
        printed.append("")
        continue
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, PAGE, "exec"), names)
    printed.append(out.getvalue())
with open("printed.json", "w") as file:
    json.dump(printed, file)
"""


def found(page, skip=None):
    """Finds the blocks of a page.

    Args:
        page: The page.
        skip: Blocks with this text are left out.

    Returns:
        A list of (language, code), and a list of what the page shows behind each, or None.
    """
    text = page.read_text()
    matches = [m for m in BLOCKS.finditer(text) if skip is None or skip not in m.group(2)]
    codes = [(m.group(1), _runnable(text, m)) for m in matches]
    return codes, [m.group(3) for m in matches]


def _runnable(text, match):
    """The code of a block. Its lines keep their numbers; installing is tried without doing it."""
    code = match.group(2)
    if match.group(1) == "python":
        return "\n" * text.count("\n", 0, match.start(2)) + code
    code = re.sub(r"^make ", f"make -C '{pages.ROOT}' --dry-run ", code, flags=re.MULTILINE)
    return re.sub(r"^pip install .*$", "", code, flags=re.MULTILINE)


def printed(page, folder, skip=None):
    """Runs the blocks in a process of its own and returns what each of them prints."""
    codes, _ = found(page, skip)
    pages.run([RUNNER.replace("CODES", repr(codes)).replace("PAGE", repr(page.name))], page, folder)
    return json.loads((folder / "printed.json").read_text())


def skeleton(text):
    """An output without what differs from run to run: numbers, the processor, the width of columns."""
    text = re.sub(r"^.*, threads: .*$", "processor, threads and batch", text, flags=re.MULTILINE)
    text = re.sub(r"\d+(\.\d+)?(e[+-]\d+)?", "0", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def check(page, folder, skip=None):
    """Runs a page and asserts that its blocks print what it shows."""
    _, shown = found(page, skip)
    said = printed(page, folder, skip)
    assert said
    for one, text in zip(said, shown, strict=True):
        assert skeleton(one) == skeleton(text or "")
