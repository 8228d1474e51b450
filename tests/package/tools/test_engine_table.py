"""tools/engine_table.py, on the log of a made-up run."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "tools" / "engine_table.py"

_SPEC = importlib.util.spec_from_file_location("engine_table", SCRIPT)
table = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(table)

PASSES = {"steps": ("forward", "backward"), "cuDNN": ("inference", "training")}


def line(rival, cell, dtype, units, faster, slower_pass=None):
    """The line of a check, as tests/gpu/core/run.py prints it.

    Args:
        rival: the name in the first column.
        cell: name of the cell.
        dtype: name of the type.
        units: H.
        faster: {batch: whether the persistent kernels are faster}.
        slower_pass: a pass in which they are always slower.
    """
    rows = [
        f"| {rival} | {cell} | {dtype} | {units} | {batch} | {name} "
        f"| {10.5 if is_faster and name != slower_pass else 99.5} | 20.0 |"
        for batch, is_faster in faster.items()
        for name in PASSES[rival.split(",")[0]]
    ]
    return f"ok   engine-times {dtype} {cell} {rival} H={units} {' '.join(rows)}"


def run(tmp_path, lines, rows):
    """The rows of the file after the script ran, and the finished process."""
    log, file = tmp_path / "gpu.log", tmp_path / "rows.inc"
    head = "| rival | cell | type | H | B | pass | persistent | rival's time |"
    first = ["device: a card, cuDNN 1", f"table engine-times (microseconds of a call): {head}"]
    log.write_text("\n".join([*first, *lines, "12 passed, 0 failed"]) + "\n")
    file.write_text(table.text_of(rows, "an older card"))
    command = [sys.executable, SCRIPT, log, "--rows", file]
    done = subprocess.run(command, capture_output=True, text=True)
    return table.rows_of(file.read_text()), done


def row(key, units, batch):
    return table.Row(table.Key(*key.split()), units, batch)


LSTM = "kForward kLstm kFloat32", "kBackward kLstm kFloat32"


def test_the_ranges_of_a_run(tmp_path):
    lines = [
        line("steps", "lstm", "float32", 128, {1: True, 16: True, 64: True}),
        line("steps", "lstm", "float32", 256, {1: True, 16: True, 64: True}),
        line("steps", "lstm", "float32", 512, {1: True, 8: True, 16: False, 64: True, 80: False}),
        line("steps", "lstm", "float32", 1024, {1: False, 16: False}),
    ]
    rows, done = run(tmp_path, lines, [row(LSTM[0], (1, 1024), (1, 128))])
    assert done.returncode == 0, done.stderr
    assert rows == [
        row(key, units, batch)
        for key in LSTM
        for units, batch in (((1, 256), (1, 64)), ((257, 512), (1, 8)), ((257, 512), (64, 64)))
    ]


def test_cudnn_is_replaced_where_both_passes_are_faster(tmp_path):
    lines = [
        line("cuDNN", "gru", "bfloat16", 256, {4: True, 64: True}, slower_pass="training"),
        line("cuDNN", "gru", "bfloat16", 512, {4: False, 64: True}),
    ]
    rows, done = run(tmp_path, lines, [])
    assert done.returncode == 0, done.stderr
    assert rows == [row("kCudnn kGru kBFloat16", (257, 512), (64, 64))]


def test_passes_and_kinds_of_kernels_have_rows_of_their_own(tmp_path):
    lines = [
        line("steps", "lstm", "float32", 256, {1: True}, slower_pass="backward"),
        line("steps, general", "lstm", "float32", 256, {1: True}, slower_pass="forward"),
        line("cuDNN, tensor cores", "lstm", "float32", 256, {8: True}).replace("10.5 |", "- |"),
    ]
    rows, done = run(tmp_path, lines, [])
    assert done.returncode == 0, done.stderr
    assert [r.key.rival for r in rows] == ["kForward", "kGeneralBackward"]


def test_a_run_that_was_cut_off_keeps_rows(tmp_path):
    kept = row("kCudnn kLstm kFloat16", (129, 1024), (16, 64))
    lines = [
        line("steps", "lstm", "float32", 256, {1: True}),
        line("steps", "lstm", "float32", 512, {1: False}),
        line("cuDNN", "lstm", "float16", 256, {16: False}),
    ]
    rows, done = run(tmp_path, lines, [kept])
    assert done.returncode == 0, done.stderr
    assert rows == [*(row(key, (1, 256), (1, 1)) for key in LSTM), kept]


@pytest.mark.parametrize("lines", [[], ["FAIL engine-times float32 lstm steps H=256 CoreError"]])
def test_a_run_without_times_changes_nothing(tmp_path, lines):
    kept = [row(LSTM[0], (1, 256), (1, 128))]
    rows, done = run(tmp_path, lines, kept)
    assert (rows, done.returncode) == (kept, 1)


def test_the_file_of_the_library_can_be_updated():
    text = table.ROWS.read_text()
    rows = table.rows_of(text)
    assert len(rows) == text.count("Rival::")
    assert table.updated(rows, {}) == rows
