"""benchmarks.turns with programs that speak the protocol of bench_kernels --turns stdin."""

import sys

import pytest

from benchmarks import turns

OPTIONS = ["--isa", "avx2", "--turns", "4"]

# A program that logs its calls and takes SECONDS for them, one after the other.
PROGRAM = """#!{python}
import sys

if sys.argv[1:-1] != ["--turns", "stdin", "--isa", "avx2", "--threads", "1"]:
    sys.exit(2)
print("| problem | ISA | threads | pass | ms |")
for name in {passes}:
    print("ready", flush=True)
    seconds = iter({seconds})
    while sys.stdin.readline() == "call\\n":
        with open({log!r}, "a") as log:
            log.write("{name} ")
        print(next(seconds), flush=True)
    if {fails}:
        sys.exit(1)
    print(f"| {{sys.argv[-1]}} | avx2 | 1 | {{name}} | 0 |", flush=True)
"""

# The first turn finds the number of calls and does not count.
OLD = (9, 0.004, 0.004, 0.005, 0.004)
NEW = (1, 0.004, 0.005, 0.010, 0.012)  # 1, 1.25, 2 and 3 times as long


@pytest.fixture
def program(tmp_path):
    """Writes a program and returns its path."""

    def write(name, seconds, passes=("forward", "backward"), fails=False):
        path = tmp_path / name
        text = PROGRAM.format(
            python=sys.executable,
            name=name,
            passes=passes,
            seconds=seconds,
            fails=fails,
            log=str(tmp_path / "log.txt"),
        )
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    return write


def test_ratios_of_each_pass_and_shape(program, tmp_path, capsys):
    shapes = tmp_path / "shapes.txt"
    shapes.write_text("# a comment\ngru 1 2 3 4  # another\n")
    turns.main([program("old", OLD), program("new", NEW), str(shapes), "lstm 5 6 7 8", *OPTIONS])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == [
        f"| {shape} | {name} | 4 | 1.625 | 1.188 to 2.250 | 1.000 |"
        for shape in ("gru 1 2 3 4", "lstm 5 6 7 8")
        for name in ("forward", "backward")
    ]


def test_programs_take_turns_in_alternating_order(program, tmp_path):
    turns.main([program("old", OLD, ["forward"]), program("new", NEW, ["forward"]), "x", *OPTIONS])
    calls = (tmp_path / "log.txt").read_text().split()
    assert calls == ["old", "new", *["new", "old", "old", "new"] * 2]


@pytest.mark.parametrize(
    ("seconds", "passes", "fails"),
    [(NEW, ["packing", "backward"], False), (NEW, [], False), (NEW[:3], ["forward"], False)]
    + [(NEW, ["forward", "backward"], True)],
)
def test_programs_that_do_not_fit(program, seconds, passes, fails):
    """Other passes, no kernels of the instruction set, an end in the middle of a pass."""
    with pytest.raises(SystemExit):
        turns.main([program("old", OLD), program("new", seconds, passes, fails), "x", *OPTIONS])
