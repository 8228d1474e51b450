"""The benchmarks: a small run, the shapes, and the figures of the documents."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT))

from benchmarks import machine, plots, problems, report, rtneural, run  # noqa: E402


def test_problems():
    for path in (ROOT / "benchmarks" / "shapes").glob("*.txt"):
        assert problems.read(path), path
    assert problems.expand("{lstm,gru} 1 {2,3} 4 5") == [
        *("lstm 1 2 4 5", "lstm 1 3 4 5", "gru 1 2 4 5", "gru 1 3 4 5")
    ]
    problem = problems.Problem("gru", T=2, B=3, I=5, H=7, L=2, D=2)
    first, second = 2 * 2 * 3 * 7 * (5 + 7), 2 * 2 * 3 * 7 * (14 + 7)
    assert problem.flops(training=False) == 6 * (first + second)
    assert problem.flops(training=True) == 18 * (first + second)
    projected = problems.parse("lstm_projected 5 2 3 8")
    x, dy, [(w_ih, w_hh, _, _)] = problems.make_data(projected)
    assert (x.shape, dy.shape) == ((5, 2, 3), (5, 2, 4))
    assert (w_ih.shape, w_hh.shape) == ((32, 3), (32, 4))
    assert projected.flops(training=False) == 2 * 5 * 2 * (32 * (3 + 4) + 8 * 4)
    assert problems.parse("lstm 1 2 3 4 dropout=0.25").dropout == 0.25
    int8 = problems.parse("gru 1 2 3 4 1 1 int8")
    assert int8.has_mode(training=False) and not int8.has_mode(training=True)


@pytest.mark.parametrize("wrong", [2.1, float("nan")])
def test_results_that_differ_are_left_out(wrong):
    with pytest.raises(run.WorkerError, match="results differ"):
        run.compare({"y": [1.0, 2.0]}, {"y": [1.0, wrong]}, 1e-3)


@pytest.mark.parametrize("name", ["paths", "speedup_keras", "short_calls"])
def test_the_figures_of_the_documents_are_those_of_their_data(tmp_path, monkeypatch, name):
    images = plots.IMAGES
    for data in images.glob("*.json"):
        (tmp_path / data.name).write_bytes(data.read_bytes())
    monkeypatch.setattr(plots, "IMAGES", tmp_path)
    plots.main()
    # Other versions of matplotlib draw other paths; the numbers and names are text.
    texts = [
        re.findall(r">([^<>\n]+)</text>", (folder / f"{name}.svg").read_text())
        for folder in (images, tmp_path)
    ]
    assert texts[0] == texts[1] and len(texts[0]) > 10


def test_run(tmp_path):
    shapes, names = tmp_path / "shapes.txt", ["tf_rnn_ops", "TF BlockLSTMV2"]
    shapes.write_text("lstm 5 3 4 6\ngru 5 3 4 6\n")
    command = [sys.executable, "-m", "benchmarks.run", shapes, "--rounds", "1", "--threads", "1"]
    command += ["--output", tmp_path, "--peers", *names]
    # The workers import the same tf_rnn_ops as this process.
    path = os.environ.get("PYTHONPATH", "")
    env = dict(os.environ, PYTHONPATH=f"{ROOT}:{path}", BENCH_PYTHONPATH=path)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for row in json.loads((tmp_path / "results.json").read_text())["rows"]:
        libraries = names if row["problem"]["cell"] == "lstm" else names[:1]
        assert list(row["seconds"]) == libraries, row["left_out"]
        assert all(min(s) > 0 for s in row["seconds"].values())
        assert (report.ratio(row) is None) == (libraries == names[:1])
    assert (tmp_path / "results.md").read_text().count("| lstm (5,3,4,6) |") == 2


def test_next_to_rtneural(tmp_path):
    assert rtneural.row("gru 16 6.0e-08 100 125.2 70.4") == (
        "| GRU 16 | 100 | 125 | 1.25 | 70 | 0.70 |"
    )
    with pytest.raises(SystemExit, match="results of gru with 16 units differ by 1.0e-03"):
        rtneural.row("gru 16 1.0e-03 100 125.2 70.4")
    with pytest.raises(SystemExit, match="must be a checkout of RTNeural, but it has no RTNeural"):
        run.main(["--rtneural", str(tmp_path)])
    (tmp_path / "RTNeural").mkdir()
    (tmp_path / "RTNeural" / "RTNeural.h").touch()
    with pytest.raises(SystemExit, match="modules/xsimd must be a checkout of xsimd"):
        run.main(["--rtneural", str(tmp_path)])


def test_no_processor_has_two_generations():
    for vendor, family, ranges, label in machine._GENERATIONS:
        for model in {end for both in ranges for end in both}:
            assert machine.generation(vendor, str(family), str(model)) == label


@pytest.mark.parametrize(
    ("processor", "words"),
    [
        (("AuthenticAMD", "25", "17"), "Zen 4"),
        (("AuthenticAMD", "25", "200"), "family 25, model 200"),
        (("Other", "25", "17"), "family 25, model 17"),
    ],
)
def test_the_generation_of_a_processor(processor, words):
    assert machine.generation(*processor) == words
