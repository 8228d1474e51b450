"""Draws measurements: how many times as long as tf_rnn_ops the others take."""

from benchmarks import report

# What TensorFlow brings: (series, its forms, of which the faster is drawn, what replaces it here).
_REPLACED = (
    ("Keras", ("Keras", "Keras jit"), "tf_rnn_ops Keras"),
    ("TensorFlow", ("TF BlockLSTMV2",), "tf_rnn_ops BlockLSTM"),
)
_COLORS = {"fastest other library": "#1b6ca8", "Keras": "#d1603d", "TensorFlow": "#7a7a7a"}


def bars(row):
    """Chooses what to draw of a row.

    Args:
        row: A row of the results, of which tf_rnn_ops has a time.

    Returns:
        A list of (series, name of the library, its time over that of its counterpart in tf_rnn_ops),
        at most three.
    """
    times = report.medians(row)
    _, ours = report.own(row)
    replaced = {name for _, names, _ in _REPLACED for name in names}
    others = {n: t for n, t in times.items() if n not in (*replaced, *report.OURS)}
    chosen = []
    if others:
        name = min(others, key=others.get)
        chosen.append(("fastest other library", name, others[name] / ours))
    for series, names, counterpart in _REPLACED:
        there = {n: times[n] for n in names if n in times}
        if there:
            name = min(there, key=there.get)
            chosen.append((series, name, there[name] / times.get(counterpart, ours)))
    return chosen


def draw(results, folder):
    """Writes one SVG and one PNG for each mode and number of threads.

    Args:
        results: What benchmarks.run writes.
        folder: Where to put the files, a pathlib.Path.
    """
    groups = {}
    for row in results["rows"]:
        if report.own(row)[0] and bars(row):
            groups.setdefault((row["mode"], row["threads"]), []).append(row)
    for (mode, threads), rows in groups.items():
        _draw_group(rows, mode, threads, folder)


def _draw_group(rows, mode, threads, folder):
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "tf_rnn_ops"  # the same file for the same results
    import matplotlib.pyplot as plt
    from matplotlib import ticker

    height = 0.26
    heights = [len(bars(row)) * height + 0.3 for row in rows]
    figure, axis = plt.subplots(figsize=(8.5, sum(heights) * 0.75 + 1.2))
    top, places, named = 0.0, [], set()
    for row, space in zip(rows, heights, strict=True):
        drawn = bars(row)
        for i, (series, name, ratio) in enumerate(drawn):
            at = top + (i + 0.5) * height
            label = None if series in named else series
            named.add(series)
            axis.barh(at, ratio - 1, height * 0.9, 1, color=_COLORS[series], label=label)
            text = f" {name} {ratio:.2f} " if ratio < 10 else f" {name} {ratio:.0f} "
            axis.text(max(ratio, 1), at, text, va="center", fontsize=8)
        places.append(top + len(drawn) * height / 2)
        top += space
    axis.axvline(1, color="black", linewidth=1)
    axis.set_xscale("log")
    largest = max(ratio for row in rows for _, _, ratio in bars(row))
    least = min(ratio for row in rows for _, _, ratio in bars(row))
    axis.set_xlim(min(0.9, least * 0.95), largest * 2.4)
    axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.set_yticks(places, [row["name"] for row in rows])
    axis.set_ylim(top, -0.15)
    axis.set_xlabel(
        "time of the library / time of tf_rnn_ops    (right of 1: tf_rnn_ops is faster)"
    )
    axis.set_title(f"{mode}, {threads} thread{'s' if threads > 1 else ''}", loc="left")
    axis.legend(fontsize=8, frameon=False, loc="lower right")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    figure.tight_layout()
    for kind in ("svg", "png"):
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(folder / f"{mode}_{threads}.{kind}", dpi=120, metadata=metadata)
    plt.close(figure)
