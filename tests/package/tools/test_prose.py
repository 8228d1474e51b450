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
