"""The Markdown pages: their code, what it prints, and their links."""

import json
import pathlib
import re

from support import subproc

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALL = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
# The files whose comments refer to pages.
SOURCES = [
    path
    for folder in (
        "benchmarks",
        "build_defs",
        "cc",
        "docs/images",
        "examples",
        "tests",
        "tf_rnn_ops",
        "tools",
    )
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {"", *".bzl .c .cc .h .inc .json .mk .py .sh .txt".split()} and path.is_file()
]
SOURCES += [ROOT / "Makefile", ROOT / ".ci" / "run"]
# docs/raw-ops.md, "The parameter vector". Not the target of a link in Markdown, which links() returns.
REFERENCE = re.compile(
    r'(?<!\]\()(?<!/)\b((?:docs|tests|examples)/[\w./-]+\.md)(?:, \\?"([^"\\]+)\\?")?'
)
# A block of code, and behind it what it prints.
BLOCKS = re.compile(
    r"^```(python|sh)\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
RUNNER = """
import ast, contextlib, io, json, os, subprocess, sys
names = {"__name__": "page"}
os.environ["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
printed = []
for language, code in CODES:
    if language == "sh":
        subprocess.run(["bash", "-e", "-c", code], check=True, stdout=subprocess.DEVNULL)
        printed.append("")
        continue
    tree = ast.parse(code, PAGE)
    shown = tree.body.pop() if language == "cell" and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, PAGE, "exec"), names)
        if shown and (value := eval(compile(ast.Expression(shown.value), PAGE, "eval"), names)) is not None:
            print(repr(value))
    printed.append(out.getvalue())
exec(EPILOGUE, names)
with open("printed.json", "w") as file:
    json.dump(printed, file)
"""


def _runnable(text, match):
    """The code of a block. Its lines keep their numbers; installing is tried without doing it."""
    code = match.group(2)
    if match.group(1) == "python":
        return "\n" * text.count("\n", 0, match.start(2)) + code
    code = re.sub(r"^make ", f"make -C '{ROOT}' --dry-run ", code, flags=re.MULTILINE)
    return re.sub(r"^pip install .*$", "", code, flags=re.MULTILINE)


def run(page, folder, epilogue="", languages=("python", "sh")):
    """Runs the blocks of a page in order, in a process of its own, since pages change global state.

    Args:
        page: The page; tracebacks show its name.
        folder: The working directory.
        epilogue: Code to run afterwards in the same namespace.
        languages: The languages of the blocks that run.

    Returns:
        A list with a pair for each block: what it prints, and what the page shows behind it, or None.
    """
    text = page.read_text()
    matches = [match for match in BLOCKS.finditer(text) if match.group(1) in languages]
    assert matches, f"{page} has no code"
    codes = [(match.group(1), _runnable(text, match)) for match in matches]
    printed = _run(codes, page, folder, epilogue)
    return [(said, match.group(3)) for said, match in zip(printed, matches, strict=True)]


def run_notebook(notebook, folder):
    """Runs the cells of a notebook in order, in a process of its own.

    Args:
        notebook: Its path.
        folder: The working directory.

    Returns:
        A list with a pair for each cell of code: what it prints and shows, and what the file has stored.
    """
    cells = [
        cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"
    ]
    printed = _run([("cell", "".join(cell["source"])) for cell in cells], notebook, folder)
    return list(zip(printed, map(_stored, cells), strict=True))


def _stored(cell):
    texts = []
    for output in cell["outputs"]:
        assert output["output_type"] != "error", output
        if output.get("name") != "stderr":
            texts += output["text"] if "text" in output else [*output["data"]["text/plain"], "\n"]
    return "".join(texts)


def _run(codes, page, folder, epilogue=""):
    """Runs codes, [(language, code)], and returns their outputs. A cell also shows its last expression."""
    values = {"CODES": codes, "PAGE": page.name, "EPILOGUE": epilogue}
    script = folder / "run_page.py"
    script.write_text(re.sub("CODES|PAGE|EPILOGUE", lambda name: repr(values[name[0]]), RUNNER))
    process = subproc.run([script], folder)
    assert process.returncode == 0, process.stdout + process.stderr[-4000:]
    return json.loads((folder / "printed.json").read_text())


def skeleton(text):
    """An output without what differs from run to run: numbers, the processor, the width of columns."""
    text = re.sub(r"^.*, threads: .*$", "processor, threads and batch", text, flags=re.MULTILINE)
    text = re.sub(r"\d+(\.\d+)?(e[+-]\d+)?", "0", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def _without_code(page):
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def links(page):
    """Returns the relative targets of the links and images of a page, such as 'keras.md#stacks'."""
    found = re.findall(r"\]\(([^)\s]+)\)", _without_code(page))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def headings(page):
    return re.findall(r"^#+ (.*)$", _without_code(page), re.MULTILINE)


def anchors(page):
    """Returns the names that links give the headings of a page."""
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in headings(page)}


def references(text):
    """Returns the pages that comments name: pairs of a path from the root and a heading or ""."""
    lines = re.sub(r"\s*\n\s*(//|#|\*)?\s*", " ", text)  # a reference may go on in the next line
    return REFERENCE.findall(lines)
