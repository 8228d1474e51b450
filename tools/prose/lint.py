"""Checks the prose of files: `python tools/prose/lint.py [FILE...]`, by default all that PROSE names.

Pages of Markdown are checked as they are. Sources of Python and C++ are checked in copies that have the
comments, docstrings and messages but no code. The rules are in rules.yml.
"""

import ast
import io
import os
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTLINT = ROOT / ".tools" / "prose" / "node_modules" / ".bin" / "textlint"
COPIES = ROOT / "build" / "prose"
# For `git ls-files`. History and the texts of licences are not checked.
PROSE = (
    "*.md",
    "*.py",
    "benchmarks/kernels/*.cc",
    "cc/compat/*.cc",
    "cc/core/*.cc",
    "cc/core/*.h",
    "cc/step/*.cc",
    "cc/step/*.h",
    "cc/cpu/*.cc",
    "cc/cpu/*.h",
    "cc/xla/*.cc",
    "cc/xla/*.h",
    "cc/gpu/*.cc",
    "cc/gpu/*.h",
    "cc/tf/*.cc",
    "cc/tf/*.h",
    "tests/cc/compat/*.cc",
    "tests/cc/core/*.cc",
    "tests/cc/core/*.h",
    "tests/cc/cpu/*.cc",
    "tests/cc/cpu/*.h",
    "tests/cc/gpu/*.cc",
    "tests/cc/gpu/*.h",
    "tests/cc/xla/*.cc",
    "tests/gpu/*.cc",
    "tests/gpu/*.h",
    "tests/robustness/fuzz/native/*.cc",
    "tests/robustness/fuzz/native/*.h",
    ":!LICENSES",
)
# Python 3.12 and newer split an f-string into tokens.
STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
# Functions whose arguments are messages.
MESSAGES = ("warn", "warning", "error", "print", "add_argument", "ArgumentParser")


def _is_message(node):
    """Whether the strings in a node are for users."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "attr", getattr(node.func, "id", None)) in MESSAGES
    return isinstance(node, ast.Raise)


def _python(text):
    """The docstrings, comments and messages of Python code: {line: text}."""
    found = {}
    messages = set()
    for node in ast.walk(ast.parse(text)):
        if _is_message(node):
            messages.update(range(node.lineno, node.end_lineno + 1))
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            continue
        if ast.get_docstring(node) is not None:
            first = node.body[0].lineno
            lines = text.splitlines()[first - 1 : node.body[0].end_lineno]
            found.update(enumerate((line.replace('"""', "") for line in lines), first))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            found[token.start[0]] = token.string.lstrip("#")
        elif token.type in STRINGS and token.start[0] in messages:
            part = re.sub(r"\{[^{}]*\}", "x", token.string.lstrip("rbf").strip("\"'"))
            if " " in part:  # otherwise it is a name
                found[token.start[0]] = found.get(token.start[0], "") + part
    return found


def _cpp(text):
    """The comments of C++ code that fill a line: {line: text}."""
    comment = re.compile(r"^\s*//+ ?(.*)$")
    lines = enumerate(text.splitlines(), 1)
    return {number: match[1] for number, line in lines if (match := comment.match(line))}


COMMENTS = {".py": _python, ".cc": _cpp, ".h": _cpp}


def copy(source, folder):
    """Writes the comments of a source file to a page with the same line numbers, and returns it."""
    text = source.read_text()
    comments = COMMENTS[source.suffix](text)
    lines = (comments.get(k + 1, "").strip() for k in range(len(text.splitlines())))
    page = folder / f"{source.relative_to(ROOT)}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines) + "\n")
    return page


def lint(files):
    """Prints a line for each violation of a rule, and returns the number of violations."""
    pages = {str(f if f.suffix == ".md" else copy(f, COPIES)): f for f in files}
    command = [
        TEXTLINT,
        "--config",
        ROOT / "tools" / "prose" / "textlintrc.json",
        "--format",
        "unix",
    ]
    command += ["--rules-base-directory", TEXTLINT.parents[1], *pages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    found = re.findall(r"^(.*?):(\d+):\d+: (.*) \[Error/prh\]$", done.stdout, re.MULTILINE)
    for page, line, message in found:
        print(f"{os.path.relpath(pages[page], ROOT)}:{line}: {message}")
    return len(found)


def main():
    names = sys.argv[1:]
    if not names:
        listed = ["git", "ls-files", "--", *PROSE]
        names = subprocess.run(
            listed, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()
    return min(1, lint([ROOT / pathlib.Path(name) for name in names]))


if __name__ == "__main__":
    sys.exit(main())
