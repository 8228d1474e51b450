"""The Markdown pages: their Python code, links and tables."""

import pathlib
import re

from support import subproc

ROOT = pathlib.Path(__file__).resolve().parents[3]
MIGRATION = sorted((ROOT / "docs").glob("migration*.md"))
README = ROOT / "README.md"
ALL = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page):
    """Returns the Python blocks of a page, each after blank lines, so that line numbers do not change."""
    text = page.read_text()
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return ["\n" * text.count("\n", 0, m.start(1)) + m.group(1) for m in found]


def run(code, page, folder, epilogue=""):
    """Runs code in a process of its own, since pages change global state.

    Args:
        code: A result of blocks(), or a part of it.
        page: The page; tracebacks show its name.
        folder: The working directory.
        epilogue: Code to run afterwards in the same namespace.
    """
    script = folder / "run_page.py"
    script.write_text(
        "names = {'__name__': 'page'}\n"
        f"for code in {code!r}:\n"
        f"    exec(compile(code, {page.name!r}, 'exec'), names)\n"
        f"exec({epilogue!r}, names)\n"
    )
    process = subproc.run([script], folder)
    assert process.returncode == 0, process.stdout + process.stderr[-4000:]


def links(page):
    """Returns the relative targets of the links and images of a page, such as 'keras.md#stacks'."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [t for t in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", t)]


def anchors(page):
    """Returns the names that links give the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
