"""Two small sets through the Python ops; `make problems` runs the larger ones."""

import itertools
import json
import pathlib

import pytest

import tf_rnn_ops
from robustness.problem import draw, sets
from support.selection import all_but

# The number of relu problems of the smoke set whose gradients are not compared with a reference.
MOST_UNDECIDED = 8


@pytest.mark.parametrize("name", all_but(["quick", "smoke"], "quick"))
def test_set(name):
    records = sets.run_set(name, runners=("ops",))
    assert sum(r["problems"] for r in records) == draw.SETS[name][0]
    assert not sets.failures(records), "\n".join(sets.failures(records))
    # More would say that the reference takes too much for undecided.
    assert sum(r["undecided"] for r in records) <= MOST_UNDECIDED


def test_kept():
    text = (pathlib.Path(__file__).parent / "kept.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    outcomes = sets.run_ops(lines, sets.Setting(), "all")
    assert [outcome["failed"] for outcome in outcomes] == [""] * len(lines)
    assert all(outcome["decided"] for outcome in outcomes)


def test_a_line_names_its_setting():
    (outcome,) = sets.run_lines(["T=3 B=2 I=4 H=5 isa=baseline threads=1"], runners=("ops",))
    assert outcome["failed"] == ""


@pytest.fixture
def tiny(monkeypatch):
    """A set of two blocks, and what its blocks were run in."""
    calls = []

    def run_ops(lines, setting, laws="one"):
        calls.append(setting)
        return [
            {"label": line, "failed": "x" * (k == 1), "decided": True}
            for k, line in enumerate(lines)
        ]

    monkeypatch.setitem(draw.SETS, "tiny", (7, 4))
    monkeypatch.setattr(sets, "run_ops", run_ops)
    return calls


def test_a_set_goes_on_where_it_stopped(tiny, tmp_path):
    state = tmp_path / "state.jsonl"
    whole = sets.run_set("tiny", state=state, report=lambda line: None)
    assert [r["problems"] for r in whole] == [4, 3]
    assert tiny[0] != tiny[1]
    # As if it had been stopped after the first block, in which nothing failed.
    first = json.loads(state.read_text().splitlines()[0]) | {"failed": []}
    state.write_text(json.dumps(first) + "\n")
    again = sets.run_set("tiny", state=state, report=lambda line: None)
    assert len(tiny) == 3
    assert [r["block"] for r in again] == [0, 1]
    assert len(state.read_text().splitlines()) == 2
    assert json.loads(state.read_text().splitlines()[1])["failed"] == again[1]["failed"]
    # Failed problems run again.
    assert [r["block"] for r in sets.run_set("tiny", state=state, report=lambda line: None)] == [
        0,
        1,
    ]
    assert len(tiny) == 4


def test_a_set_says_that_nothing_is_left(tiny, tmp_path):
    state = tmp_path / "state.jsonl"
    records = [r | {"failed": []} for r in sets.run_set("tiny", report=lambda line: None)]
    state.write_text("\n".join(map(json.dumps, records)))
    said = []
    sets.run_set("tiny", state=state, report=said.append)
    assert len(tiny) == 2 and len(said) == 1 and said[0].startswith("nothing is left to run")


def test_a_block_that_is_drawn_otherwise_runs_again(tiny, tmp_path):
    state = tmp_path / "state.jsonl"
    records = [r | {"failed": []} for r in sets.run_set("tiny", report=lambda line: None)]
    records[1]["lines"] = "other"
    state.write_text("\n".join(map(json.dumps, records)))
    sets.run_set("tiny", state=state, report=lambda line: None)
    assert len(tiny) == 3


@pytest.mark.parametrize("printed,failed", [("ABC", ""), ("BC", "A"), ("A", "BC"), ("AbC", "B")])
def test_a_line_without_a_verdict_has_failed(printed, failed, monkeypatch):
    """Small letters stand for problems that failed."""
    verdicts = {k: f"problem\t{'ok' if k.isupper() else 'failed'}\t{k.upper()}" for k in printed}
    said = "".join(f"{line}\\n" for line in verdicts.values())
    program = f"printf '{said}'; exit 1"
    run = sets.subprocess.run
    monkeypatch.setattr(
        sets.subprocess, "run",
        lambda command, **options: run(["sh", "-c", program], **options | {"cwd": None}),
    )  # fmt: skip
    found = {o["label"] for o in sets.run_kernels(list("ABC")) if o["failed"]}
    assert found == set(failed or "C")


def test_no_block_begins_after_the_time(tiny):
    assert sets.run_set("tiny", seconds=-1) == []


def test_failures_and_summary_have_the_lines_and_the_counts(tiny):
    records = sets.run_set("tiny", report=lambda line: None)
    assert [line.split()[1] for line in sets.failures(records)] == ["op=" + _op(1), "op=" + _op(5)]
    (line,) = sets.summary(records)
    assert "7 of 7 problems of tiny (seed 0)" in line and line.endswith("2 failed")


def _op(number):
    return draw.problem(0, number).op


@pytest.mark.parametrize("isa", sets.ISAS)
def test_every_pair_of_instruction_set_and_threads_has_its_turn(isa, monkeypatch):
    monkeypatch.setattr(tf_rnn_ops, "cpu_isa", lambda: isa)
    pairs = [(s.isa, s.threads) for s in sets.settings()]
    isas = sets.ISAS[: sets.ISAS.index(isa) + 1]
    assert sorted(pairs) == sorted(itertools.product(isas, sets.THREADS))
    assert {threads for _, threads in pairs[: len(sets.THREADS)]} == set(sets.THREADS)
