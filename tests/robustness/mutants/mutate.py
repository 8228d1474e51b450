"""Single small faults in the text of C++ and Python files."""

import dataclasses
import io
import re
import tokenize

# The replacements. The formatters put spaces around operators of two operands.
_OPERATORS = {
    "bound": {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > "},
    "equality": {" == ": " != ", " != ": " == "},
    "sign": {
        " + ": " - ", " - ": " + ", " += ": " -= ", " -= ": " += ", "padd(": "psub(",
        "psub(": "padd(", "pmadd(": "pmsub(",
    },
    "operator": {
        " * ": " + ", " / ": " * ", " // ": " * ", " % ": " / ", " && ": " || ", " || ": " && ",
        " and ": " or ", " or ": " and ", "std::min(": "std::max(", "std::max(": "std::min(",
        "pmul(": "padd(",
    },
    "constant": {"true": "false", "false": "true", "True": "False", "False": "True"},
}  # fmt: skip
_NEGATION = re.compile(r"(?<![\w=<>])!(?=[\w(])|\bnot (?=\w)")
_NUMBER = re.compile(r"(?<![\w.\"'])\d+(?![\w.'])")
_WORD = re.compile(r"\w")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One fault: in the text of `path`, `old` at `offset` becomes `new`."""

    path: str
    offset: int
    line: int
    kind: str
    old: str
    new: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.kind} {self.old.strip()!r} -> {self.new.strip()!r}"

    def apply(self, text):
        assert text.startswith(self.old, self.offset), self
        return text[: self.offset] + self.new + text[self.offset + len(self.old) :]


def _blank(text, start, end):
    return text[:start] + re.sub(r"[^\n]", "\0", text[start:end]) + text[end:]


_CPP_REST = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|^[ \t]*#(?:\\\n|[^\n])*"
    r"|^\s*(?:template|static_assert|namespace|RNN_DCHECK)\b[^\n]*",
    re.DOTALL | re.MULTILINE,
)


def _cpp_code(text):
    """The text with comments, strings and the like blanked, at the same offsets."""
    for match in list(_CPP_REST.finditer(text)):
        text = _blank(text, *match.span())
    return text


def _python_code(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    code = text
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            begin, end = (starts[row - 1] + column for row, column in (token.start, token.end))
            code = _blank(code, begin, end)
    return code


def _found(code):
    """(offset, kind, old, new) of every fault that can be made."""
    for kind, pairs in _OPERATORS.items():
        for old, new in pairs.items():
            for match in re.finditer(re.escape(old), code):
                before = code[match.start() - 1 : match.start()]
                after = code[match.end() : match.end() + 1]
                word = _WORD.match(old) is not None
                if not (
                    word and (_WORD.match(before) or kind == "constant" and _WORD.match(after))
                ):
                    yield match.start(), kind, old, new
    for match in _NEGATION.finditer(code):
        yield match.start(), "negation", match.group(), ""
    for match in _NUMBER.finditer(code):
        yield match.start(), "off by one", match.group(), str(int(match.group()) + 1)


def mutants_of(path, text):
    """Every Mutant of a file, in the order of the text."""
    code = _python_code(text) if path.endswith(".py") else _cpp_code(text)
    return [
        Mutant(path, offset, text.count("\n", 0, offset) + 1, kind, old, new)
        for offset, kind, old, new in sorted(_found(code))
    ]
