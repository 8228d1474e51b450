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
_CELLS = {"lstm": "LSTM", "gru": "GRU", "tanh": "SimpleRNN"}
# Told apart by their forms, too.
_MARKERS = {"lstm": ("o", "#0072b2"), "gru": ("s", "#d55e00"), "tanh": ("^", "#009e73")}


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
    return found


def words(problem):
    """The shape of a problem, such as 'batch 1, 100 steps, 256 units'."""
    layers = problem.get("L", 1) * problem.get("D", 1)
    more = f", {layers} layers" if layers > 1 else ""
    steps = f"{problem['T']} step{'s' if problem['T'] > 1 else ''}"
    return f"batch {problem['B']}, {steps}, {problem['H']} units{more}"


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


def draw_layers(results, path):
    """Draws the speed-up of each layer over Keras: a panel for each mode, a line for each shape."""
    panels = {}
    for row in results["rows"]:
        shapes = panels.setdefault(row["mode"], {}).setdefault(row["problem"]["cell"], {})
        shapes[words(row["problem"])] = ratios(row)["Keras"]
    figure, axes = _pyplot().subplots(len(panels), 1, figsize=(5.4, 5.2), layout="constrained")
    for axis, (mode, layers) in zip(axes, panels.items(), strict=True):
        for cell, shapes in layers.items():
            marker, color = _MARKERS[cell]
            axis.plot(shapes.values(), list(shapes), marker, color=color, label=_CELLS[cell])
        axis.invert_yaxis()
        axis.set_xscale("log", base=2)
        largest = max(ratio for shapes in layers.values() for ratio in shapes.values())
        ticks = [1, 1.5, 2, 3] if largest < 4 else [1, 2, 4, 8, 16]
        axis.set_xticks(ticks, ["Keras", *(f"{tick} x" for tick in ticks[1:])])
        axis.minorticks_off()
        axis.set_xlim(0.93, 1.15 * max(largest, ticks[-1]))
        axis.axvline(1, color="black", linewidth=1)
        axis.grid(alpha=0.3)
        axis.set_title(f"{mode}, times as fast as Keras", loc="left", fontsize=11)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
    axes[0].legend(loc="lower right", fontsize=9, framealpha=1)
    figure.suptitle(_machine(results), x=0.01, ha="left", fontsize=11)
    _save(figure, path)


def draw_short_calls(results, path):
    """Draws a heat map for each number of units: ONNX Runtime's time divided by the time of our SavedModel."""
    import matplotlib.colors

    grids = {}
    for row in results["rows"]:
        problem, times = row["problem"], report.medians(row)
        if problem["cell"] == "lstm":
            ratio = times["ONNX Runtime"] / times["tf_rnn_ops SavedModel"]
            grids.setdefault(problem["H"], {})[problem["T"], problem["B"]] = ratio
    figure, axes = _pyplot().subplots(len(grids), 1, figsize=(5.4, 6), layout="constrained")
    # White where both are equally fast, so that the border can be seen.
    norm = matplotlib.colors.TwoSlopeNorm(1, 0.4, 1.6)
    for axis, (units, grid) in zip(axes, grids.items(), strict=True):
        steps, batches = (sorted({key[k] for key in grid}) for k in (0, 1))
        table = [[grid[t, b] for b in batches] for t in steps]
        axis.imshow(table, cmap="RdBu", norm=norm, aspect="auto")
        for i, line in enumerate(table):
            for k, ratio in enumerate(line):
                color = "white" if abs(ratio - 1) > 0.4 else "black"
                axis.text(k, i, f"{ratio:.2f}", ha="center", va="center", color=color)
        axis.set_xticks(range(len(batches)), [f"batch {b}" for b in batches])
        axis.set_yticks(range(len(steps)), [f"{t} steps" if t > 1 else "1 step" for t in steps])
        axis.set_title(f"{units} units", fontsize=11, loc="left")
        axis.tick_params(length=0)
    figure.suptitle(
        f"Blue: faster than ONNX Runtime. {_machine(results)}", x=0.01, ha="left", fontsize=11
    )
    _save(figure, path)


def _machine(results):
    return f"{results['machine']['cpu']}, {results['rows'][0]['threads']} threads, float32"


# The questions of draw_paths from top to bottom: (question, answer that leaves the column, path there).
_QUESTIONS = (
    ("Do cells, activations and arguments have an op?", "no", "keras: Keras's implementation"),
    ("int8 weights under XLA?", "yes", "keras: Keras's implementation"),
    ("dropout=1 or recurrent_dropout=1 in training?", "yes", "keras: Keras's implementation"),
    ("Is there a GPU, and has cuDNN this call?", "yes", "fused: CudnnRNNV3"),
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

    draw_layers(read("speedup_keras.json"), IMAGES / "speedup_keras.svg")
    draw_short_calls(read("short_calls.json"), IMAGES / "short_calls.svg")
    draw_paths(IMAGES / "paths.svg")


if __name__ == "__main__":
    main()
