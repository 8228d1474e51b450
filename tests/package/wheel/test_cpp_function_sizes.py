"""No C++ function is long, and none has many parameters."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
MOST_LINES = 80  # between the braces
MOST_PARAMETERS = 8

CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^#[^\n]*', re.DOTALL | re.MULTILINE)
NOT_FUNCTIONS = re.compile(r"\b(if|for|while|switch|return|namespace|struct|class|enum|extern)\b")


def parameters_of(header):
    """The text between the first parentheses of a header that do not belong to an operator or attribute."""
    start = depth = 0
    for at, char in enumerate(header):
        if char == "(":
            start = start if depth else at + 1
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return header[start:at]
    return ""


def count_parameters(text):
    depth, count = 0, 1 if text.strip() else 0
    for char in text:
        depth += (char in "<([{") - (char in ">)]}")
        count += char == "," and depth == 0
    return count


def functions_of(text):
    """The header, the lines between the braces and the number of parameters of each function."""
    text = CODE.sub(lambda found: "\n" * found[0].count("\n"), text)
    opened, header = [], 0
    for at, char in enumerate(text):
        if char == "{":
            opened.append((text[header:at].strip(), at))
        elif char == "}" and opened:
            name, begin = opened.pop()
            lines = text.count("\n", begin, at) - 1
            before = re.sub(r"template\s*<[^{;]*?>\s*(?=[\w:~])", "", name).split("(")[0]
            if "(" in name and not NOT_FUNCTIONS.search(before) and not re.search(r"[=\[]", before):
                yield name, lines, count_parameters(parameters_of(name))
        if char in "{};":
            header = at + 1


@pytest.mark.parametrize(
    "text, lines, parameters",
    [
        ("template <typename T>\nint F(const A<B, C>& a, int b) {\n  one();\n  two();\n}", 2, 2),
        ("S::S(int a)\n    : a_(a), b_(f(a, 2)) {\n}", 0, 1),
        ("void F() {\n  auto g = [&](int a, int b, int c) {\n    one();\n  };\n}", 3, 0),
    ],
)
def test_a_function_is_measured(text, lines, parameters):
    assert [found[1:] for found in functions_of(text)] == [(lines, parameters)]


def test_cpp_functions_are_short():
    found = {}
    for path in sorted((ROOT / "cc").rglob("*")):
        if path.suffix in {".h", ".cc"} and path.name != "kernels_ptx.cc":
            for header, lines, parameters in functions_of(path.read_text()):
                found[f"{path.relative_to(ROOT)}: {' '.join(header.split())}"] = lines, parameters
    assert len(found) > 1000
    long = {
        name: sizes
        for name, sizes in found.items()
        if sizes[0] > MOST_LINES or sizes[1] > MOST_PARAMETERS
    }
    assert not long, f"(lines, parameters) above ({MOST_LINES}, {MOST_PARAMETERS})"
