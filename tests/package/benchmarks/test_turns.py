"""benchmarks.turns with programs that speak the protocol of bench_kernels --turns stdin."""

import sys

import pytest

from benchmarks import turns

# A program whose calls take `seconds`, or that ends at the first call (None).
PROGRAM = """#!{python}
import sys

shape = sys.argv[-1]
print("| problem | ISA | threads | pass | ms |")
for name in {passes}:
    print("ready", flush=True)
    while sys.stdin.readline() == "call\\n":
        if {seconds} is None:
            sys.exit(3)
        print({seconds}, flush=True)
    print(f"| {{shape}} | avx2 | 1 | {{name}} | 0 |", flush=True)
"""


def program(folder, name, seconds, passes=("forward", "backward")):
    path = folder / name
    path.write_text(PROGRAM.format(python=sys.executable, passes=passes, seconds=seconds))
    path.chmod(0o755)
    return str(path)


def test_ratios_of_each_pass_and_shape(tmp_path, capsys):
    old, new = program(tmp_path, "old", 0.004), program(tmp_path, "new", 0.005)
    shapes = tmp_path / "shapes.txt"
    shapes.write_text("# a comment\ngru 1 2 3 4  # another\n")
    turns.main([old, new, str(shapes), "lstm 5 6 7 8", "--isa", "avx2", "--turns", "3"])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == [
        f"| {shape} | {name} | 5 | 1.250 | 1.250 to 1.250 | 1.250 |"
        for shape in ("gru 1 2 3 4", "lstm 5 6 7 8")
        for name in ("forward", "backward")
    ]


def test_programs_with_other_passes(tmp_path):
    old = program(tmp_path, "old", 0.004)
    new = program(tmp_path, "new", 0.004, passes=("packing", "backward"))
    with pytest.raises(SystemExit, match="different passes"):
        turns.main([old, new, "lstm 5 6 7 8", "--isa", "avx2", "--turns", "2"])


def test_program_that_ends_early(tmp_path):
    old, new = program(tmp_path, "old", 0.004), program(tmp_path, "new", None)
    with pytest.raises(SystemExit, match="ended in the middle of a pass"):
        turns.main([old, new, "lstm 5 6 7 8", "--isa", "avx2", "--turns", "2"])


def test_fewer_than_two_turns(capsys):
    with pytest.raises(SystemExit):
        turns.main(["old", "new", "lstm 5 6 7 8", "--isa", "avx2", "--turns", "1"])
    assert "--turns must be at least 2: got 1" in capsys.readouterr().err
