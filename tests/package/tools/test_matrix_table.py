"""tools/test_matrix.py: the table that it writes."""

import datetime
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
_SPEC = importlib.util.spec_from_file_location("matrix_tool", ROOT / "tools" / "test_matrix.py")
tool = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(tool)

OLD = """With `old.whl`, 1.0 MB:

| Python | TensorFlow | Keras | numpy | tests | run on |
|---|---|---|---|---|---|
| 3.12.1 | 2.18.1 | 3.5.0 | 2.0.2 | 7 passed; 1 min | 2001-01-01 |
| 3.12.1 | 2.19.1 | 3.8.0 | 2.1.3 | 8 passed; 1 min | 2001-01-02 |
| 3.9.1 | 2.17.0 | 3.4.0 | 1.9.1 | 9 passed; 1 min | 2001-01-03 |
"""


def test_a_run_replaces_its_own_rows(tmp_path):
    wheel = tmp_path / "new.whl"
    wheel.write_bytes(bytes(2_500_000))
    pairs = {pair.name: pair for pair in tool.PAIRS}
    outcomes = [
        tool.Outcome(pairs["3.13-2.21"], "3.13.0 | 2.21.0 | 3.15.1 | 2.5.5", "1 failed", False),
        tool.Outcome(pairs["3.12-2.19"], "3.12 | 2.19 | |", "no such Python here", False),
    ]
    today = datetime.date.today().isoformat()
    assert tool.table(outcomes, wheel, OLD).splitlines() == [
        "With `new.whl`, 2.5 MB:",
        "",
        "| Python | TensorFlow | Keras | numpy | tests | run on |",
        "|---|---|---|---|---|---|",
        "| 3.12.1 | 2.18.1 | 3.5.0 | 2.0.2 | 7 passed; 1 min | 2001-01-01 |",
        f"| 3.12 | 2.19 | | | no such Python here | {today} |",
        f"| 3.13.0 | 2.21.0 | 3.15.1 | 2.5.5 | 1 failed | {today} |",
    ]
