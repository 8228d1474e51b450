"""tools/executed.py: the table of executed kernels, and its failure if a kernel was not executed."""

import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[3] / "tools/executed.py"
CODES = (
    "baseline", "baseline int8", "avx2", "avx2 int8", "avx2 vnni", "avx512", "avx512 int8",
    "avx512 vnni", "avx512 bf16", "avx512 amx",
)  # fmt: skip


def _run(folder, lines, *options):
    for k, line in enumerate(lines):
        log = folder / f"test{k}" / "test.log"
        log.parent.mkdir()
        log.write_text(f"[       OK ] Some.Test (1 ms)\n{line}\n")
    command = [sys.executable, TOOL, *options, folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_were_executed(tmp_path):
    lines = [f"[executed] {code}: emulated, 2 tests" for code in CODES]
    done = _run(tmp_path, [*lines, "[executed] avx512 bf16: native, 3 tests"])
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + len(CODES)
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("avx512 bf16")]
    assert row.split("  ")[-1].strip() == "2 and 3"
    assert "emulated and native" in row


@pytest.mark.parametrize("missing", CODES)
def test_a_kernel_that_nothing_executed_fails(tmp_path, missing):
    lines = [f"[executed] {code}: native, 1 tests" for code in CODES if code != missing]
    done = _run(tmp_path, lines)
    assert done.returncode == 1
    assert done.stderr == f"no test executed the kernels: {missing}\n"
    (row,) = [line for line in done.stdout.splitlines() if "NOT EXECUTED" in line]
    assert row.startswith(missing)


def test_neon(tmp_path):
    lines = ["[executed] neon: native, 4 tests", "[executed] neon int8: native, 1 tests"]
    done = _run(tmp_path, lines, "--neon")
    assert done.stderr == "no test executed the kernels: neon dot\n"
    assert "qemu" in done.stdout
