"""Draws the speed-up of tf_rnn_ops over other libraries.

`python -m benchmarks.plots` draws the figures of the documents from the JSON files next to them.
"""

import json
import pathlib

from benchmarks import report

IMAGES = pathlib.Path(__file__).resolve().parents[1] / "docs" / "images"
# TensorFlow's implementations: (series, its forms, of which the faster one counts, our replacement).
_REPLACED = (
    ("Keras", ("Keras", "Keras jit"), "tf_rnn_ops Keras"),
    ("TensorFlow", ("TF BlockLSTMV2",), "tf_rnn_ops BlockLSTM"),
)
_OTHERS = "the fastest other library"
_COLORS = {"inference": "#1b6ca8", "training": "#c2522b"}
_CELLS = {"lstm": "LSTM", "gru": "GRU", "tanh": "SimpleRNN"}


def ratios(row):
    """The speed-up of tf_rnn_ops over other libraries in a row of the results.

    Returns:
        {series: time of the other library divided by the time of its counterpart in tf_rnn_ops}.
    """
    times = report.medians(row)
    _, ours = report.own(row)
    found = {}
    for series, names, counterpart in _REPLACED:
        there = [times.pop(name) for name in names if name in times]
        if there:
            found[series] = min(there) / times.get(counterpart, ours)
    others = [
        time for name, time in times.items() if name not in (*report.OURS, *report.OTHER_TYPES)
    ]
    if others:
        found[_OTHERS] = min(others) / ours
    return found


def words(problem):
    """The shape of a problem, such as 'batch 1, 100 steps, 256 units'."""
    layers = problem.get("L", 1) * problem.get("D", 1)
    more = f", {layers} layers" if layers > 1 else ""
    steps = f"{problem['T']} step{'s' if problem['T'] > 1 else ''}"
    return f"batch {problem['B']}, {steps}, {problem['H']} units{more}"


def draw(results, folder):
    """Writes one SVG for each series and number of threads.

    Args:
        results: The results that benchmarks.run writes.
        folder: The folder for the files, a pathlib.Path.
    """
    charts = {}
    for row in results["rows"]:
        if report.own(row)[0]:
            for series, ratio in ratios(row).items():
                chart = charts.setdefault((series, row["threads"]), {})
                problem = row["problem"]
                name = f"{_CELLS.get(problem['cell'], problem['cell'])}, {words(problem)}"
                chart.setdefault(name, []).append((row["mode"], ratio))
    for (series, threads), chart in charts.items():
        name = series.split()[-1].lower()
        title = f"Speed-up over {series}: {results['machine']['cpu']}, {threads} threads"
        _draw_speedups(chart, title, folder / f"speedup_{name}_{threads}.svg")


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    # These settings make equal files for equal results, with letters as text.
    matplotlib.rcParams.update({"svg.hashsalt": "tf_rnn_ops", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt

    return plt


def _save(figure, path):
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    _pyplot().close(figure)
    lines = (line.rstrip() for line in path.read_text().splitlines())
    path.write_text("\n".join(lines) + "\n")


def _draw_speedups(chart, title, path):
    """Draws bars for {name of a group: [(mode, ratio)]}."""
    figure, axis = _pyplot().subplots(figsize=(8.5, 0.62 * len(chart) + 0.9))
    for place, bars in enumerate(chart.values()):
        for k, (mode, ratio) in enumerate(bars):
            at = place + (k - (len(bars) - 1) / 2) * 0.36
            axis.barh(at, ratio, 0.33, color=_COLORS[mode])
            text = f"{mode} {ratio:.1f} x" if ratio < 9.95 else f"{mode} {ratio:.0f} x"
            axis.annotate(
                text,
                (ratio, at),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                color=_COLORS[mode],
            )
    axis.axvline(1, color="black", linewidth=1)
    axis.set_yticks(range(len(chart)), list(chart))
    axis.invert_yaxis()
    largest = max(ratio for bars in chart.values() for _, ratio in bars)
    axis.set_xlim(0, largest * 1.25)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_xlabel("times as fast (at the line: equally fast)")
    axis.set_title(title, loc="left", fontsize=11)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    _save(figure, path)


def draw_short_calls(results, path):
    """Draws a heat map for each number of units: ONNX Runtime's time divided by the time of our SavedModel."""
    grids = {}
    for row in results["rows"]:
        problem, times = row["problem"], report.medians(row)
        if problem["cell"] == "lstm":
            ratio = times["ONNX Runtime"] / times["tf_rnn_ops SavedModel"]
            grids.setdefault(problem["H"], {})[problem["T"], problem["B"]] = ratio
    figure, axes = _pyplot().subplots(1, len(grids), figsize=(9, 2.9), sharey=True)
    for axis, (units, grid) in zip(axes, grids.items(), strict=True):
        steps, batches = (sorted({key[k] for key in grid}) for k in (0, 1))
        table = [[grid[t, b] for b in batches] for t in steps]
        axis.imshow(table, cmap="RdYlBu", vmin=0.5, vmax=1.5, aspect="auto")
        for i, line in enumerate(table):
            for k, ratio in enumerate(line):
                axis.text(k, i, f"{ratio:.2f}", ha="center", va="center", fontsize=9)
        axis.set_xticks(range(len(batches)), [f"batch {b}" for b in batches], fontsize=8)
        axis.set_yticks(range(len(steps)), [f"{t} steps" if t > 1 else "1 step" for t in steps])
        axis.set_title(f"{units} units", fontsize=10)
        axis.tick_params(length=0)
    cpu, threads = results["machine"]["cpu"], results["rows"][0]["threads"]
    figure.suptitle(
        f"LSTM in a SavedModel, times as fast as ONNX Runtime: {cpu}, {threads} threads",
        x=0.06,
        y=1.06,
        ha="left",
        fontsize=11,
    )
    _save(figure, path)


def draw_threads(results, path):
    """Draws lines of the speed-up over one thread, for each mode and shape."""
    lines = {}
    for row in results["rows"]:
        (seconds,) = report.medians(row).values()
        shape = lines.setdefault(row["mode"], {}).setdefault(words(row["problem"]), {})
        shape[row["threads"]] = seconds
    figure, axes = _pyplot().subplots(1, len(lines), figsize=(11, 3.8), sharey=True)
    for axis, (mode, shapes) in zip(axes, lines.items(), strict=True):
        ends = []
        for name, times in shapes.items():
            threads = sorted(times)
            speedups = [times[1] / times[n] for n in threads]
            (line,) = axis.plot(threads, speedups, marker="o", markersize=3)
            ends.append((speedups[-1], threads[-1], name, line.get_color()))
        _label_ends(axis, sorted(ends))
        axis.set_xscale("log", base=2)
        axis.set_xticks(threads, threads)
        axis.set_title(mode, loc="left", fontsize=10)
        axis.set_xlabel("threads")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("times as fast as one thread")
    title = f"LSTM, kernels without TensorFlow: {results['machine']['cpu']}"
    figure.suptitle(title, x=0.07, ha="left", fontsize=11)
    figure.subplots_adjust(wspace=0.75)
    _save(figure, path)


def _label_ends(axis, ends, apart=0.75):
    """Writes the names of lines at their right ends, at least `apart` from each other."""
    at = 0.0
    for speedup, threads, name, color in ends:
        at = max(speedup, at + apart)
        axis.text(1.15 * threads, at, name, color=color, fontsize=8, va="center")


# The questions of draw_paths from top to bottom: (question, answer that leaves the column, path there).
_QUESTIONS = (
    ("Do cells, activations and arguments have an op?", "no", "keras: Keras's implementation"),
    ("Does TensorFlow see a GPU?", "yes", "fused: CudnnRNNV3 on cuDNN; keras: XLA, some arguments"),
    ("int8 weights under XLA?", "yes", "keras: Keras's implementation"),
    ("dropout=1 or recurrent_dropout=1 in training?", "yes", "keras: Keras's implementation"),
)


def draw_paths(path):
    """Draws the questions that decide which path a drop-in layer takes."""
    figure, axis = _pyplot().subplots(figsize=(8.4, 4.6))
    axis.set_xlim(0, 100)
    axis.set_ylim(-13, 100)
    axis.axis("off")

    def box(x, y, text, color):
        style = {"boxstyle": "round,pad=0.5", "facecolor": color, "edgecolor": "#555555"}
        axis.text(x, y, text, ha="center", va="center", fontsize=10, bbox=style)

    def arrow(start, end, text="", **where):
        axis.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#555555"})
        if text:
            axis.text(*where["at"], text, fontsize=10, color="#555555", va="center")

    column, side, top, apart = 26, 82, 96, 21.5
    box(column, top, "a call of LSTM, GRU, SimpleRNN or RNN", "#ffffff")
    for k, (question, leaves, end) in enumerate(_QUESTIONS):
        y = top - (k + 1) * apart
        stays = "no" if leaves == "yes" else "yes"
        before = "" if k == 0 else ("yes" if _QUESTIONS[k - 1][1] == "no" else "no")
        arrow((column, y + apart - 5), (column, y + 5), before, at=(column + 1.5, y + apart / 2))
        box(column, y, question, "#f2f2f2")
        box(side, y, end.replace("; ", "\n"), "#f6d9cd" if end.startswith("keras") else "#cfe3f2")
        arrow((column + 29, y), (side - 19, y), leaves, at=(column + 29.5, y + 3.5))
    y = top - (len(_QUESTIONS) + 1) * apart
    arrow((column, y + apart - 5), (column, y + 5), stays, at=(column + 1.5, y + apart / 2))
    box(column, y, "fused: LayerRNN, one op for all steps", "#cfe3f2")
    _save(figure, path)


def main():
    """Draws the figures of the documents."""

    def read(name):
        return json.loads((IMAGES / name).read_text())

    keras = read("speedup_keras.json")
    chart = {}
    for row in keras["rows"]:
        chart.setdefault(words(row["problem"]), []).append((row["mode"], ratios(row)["Keras"]))
    title = f"LSTM layer, speed-up over Keras: {keras['machine']['cpu']}, 2 threads, float32"
    _draw_speedups(chart, title, IMAGES / "speedup_keras.svg")
    draw_short_calls(read("short_calls.json"), IMAGES / "short_calls.svg")
    draw_threads(read("threads.json"), IMAGES / "threads.svg")
    draw_paths(IMAGES / "paths.svg")


if __name__ == "__main__":
    main()
