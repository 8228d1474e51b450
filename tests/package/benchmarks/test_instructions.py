"""benchmarks.instructions with programs that act as valgrind, bench_kernels, size and g++."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3]))

from benchmarks import instructions  # noqa: E402

# Runs bench_kernels and writes that its calls have 1000, 2000 ... instructions.
VALGRIND = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do
  case $1 in --callgrind-out-file=*) out=${1#*=} ;; esac; shift; done
"$@" || exit
for k in 1 2 3 4; do echo "totals: ${k}000" >"$out.$k"; done
"""
BENCH = """#!/bin/sh
for pass in forward "forward, packed" "forward, training" backward
do echo "| $7 | $6 | 1 | $pass |"; done
"""
SIZE, COMPILER = "#!/bin/sh\necho '.text  7000  0'\n", "#!/bin/sh\necho 12.2.0\n"
BACKWARD = "lstm 11 7 37 101, backward"


@pytest.fixture
def count(tmp_path, monkeypatch, capsys):
    """Runs the module; returns its output and the cells of each row."""

    def run(*options, bench=BENCH, valgrind=VALGRIND):
        programs = {"bench": bench, "valgrind": valgrind, "size": SIZE, "g++": COMPILER}
        for name, text in programs.items():
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o755 if text else 0o644)
        monkeypatch.setenv("PATH", str(tmp_path))
        files = [f"--program={tmp_path}/bench", f"--stored={tmp_path}/stored.txt"]
        instructions.main([*files, *options])
        output = capsys.readouterr().out
        rows = [line.strip("| ").split(" | ") for line in output.splitlines()]
        return output, {tuple(words[:2]): words[2:] for words in rows}

    return run


def test_ratios_to_the_stored_counts(count, tmp_path):
    assert count("--store")[1][BACKWARD, "avx2"] == ["0.004", "", "new"]
    text = (path := tmp_path / "stored.txt").read_text()
    path.write_text(text.replace("2 | 4000", "2 | 3200").rpartition("machine code")[0])
    output, rows = count()
    assert rows[BACKWARD, "avx2"] == ["0.004", "0.003", "1.250 **more**"]
    assert rows[BACKWARD, "baseline"][-1] == "1.000"
    assert rows["machine code", "avx512"][-1] == "new" and "g++" not in output
    path.write_text(text.replace("12.2.0", "11.1.0"))
    assert "from g++ 11.1.0 to g++ 12.2.0" in count()[0]


@pytest.mark.parametrize("damage", ["lstm | avx2 | many", "lstm | avx2", "g++ | 12 | 0"])
def test_a_damaged_file_is_named_and_can_be_replaced(count, tmp_path, damage):
    (tmp_path / "stored.txt").write_text(f"g++ | 12.2.0\n{damage}\n")
    with pytest.raises(SystemExit, match="stored.txt:2"):
        count()
    assert count("--store")[1][BACKWARD, "avx2"][-1] == "new"
    assert count()[1][BACKWARD, "avx2"][-1] == "1.000"


def test_a_cpu_without_an_instruction_set(count):
    bench = BENCH.replace("\nfor ", '\n[ "$6" = baseline ] || exit 0\nfor ')
    _, rows = count(bench=bench)
    assert (rows[BACKWARD, "avx2"][0], rows[BACKWARD, "baseline"][0]) == ("not run", "0.004")
    with pytest.raises(SystemExit, match="instruction set"):
        count("--store", bench=bench)


def test_a_crash_and_a_missing_valgrind(count):
    with pytest.raises(SystemExit, match="ended with 3.\nno memory"):
        count(bench="#!/bin/sh\necho no memory >&2\nexit 3\n")
    with pytest.raises(SystemExit, match="valgrind"):
        count(valgrind="")
    assert "valgrind" in count("--optional", valgrind="")[0]
