"""tools/prose: the parts of sources that are prose, and the rules."""

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
_SPEC = importlib.util.spec_from_file_location("prose", ROOT / "tools" / "prose" / "lint.py")
prose = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(prose)


def test_comments_and_docstrings_of_python():
    code = (
        '"""One.\n\nTwo."""\n\n\ndef f():\n    """Three."""\n    x = "# no"  # four\n    return x\n'
    )
    found = {line: text.strip() for line, text in prose.COMMENTS[".py"](code).items()}
    assert found == {1: "One.", 2: "", 3: "Two.", 7: "Three.", 8: "four"}


def test_messages_of_python():
    code = 'f("no", x)\nraise E(f"A {b} is"\n  " not c.")\nwarnings.warn("D e", "f")\n'
    assert prose.COMMENTS[".py"](code) == {2: "A x is", 3: " not c.", 4: "D e"}


def test_comments_of_cpp():
    code = "// One.\nint x;  // not a line of its own\n  // Two.\n"
    assert prose.COMMENTS[".h"](code) == {1: "One.", 3: "Two."}


def test_a_copy_keeps_the_line_numbers(tmp_path):
    page = prose.copy(ROOT / "tools" / "prose" / "lint.py", tmp_path)
    source = (ROOT / "tools" / "prose" / "lint.py").read_text().splitlines()
    copied = page.read_text().splitlines()
    assert len(copied) == len(source)
    (line,) = [k for k, text in enumerate(source) if "# For `git ls-files`." in text]
    assert copied[line] == source[line].lstrip("# ")


def test_every_rule_has_an_example():
    """prh checks the examples (specs) when it reads the rules."""
    text = (ROOT / "tools" / "prose" / "rules.yml").read_text()
    assert text.count("- expected:") == text.count("      - from:") > 20
