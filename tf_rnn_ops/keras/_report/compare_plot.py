"""The picture of compare(): a bar for each time, and the ratio next to each pair of bars."""

import textwrap

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_COLORS = {"Keras": "#8a8a8a", "tf_rnn_ops": "#0b5cad"}


def draw(path, timings, where):
    """Writes the picture.

    Args:
        path: The file. Its suffix determines the format.
        timings: A list of Timing.
        where: The processor, the threads and the batch.
    """
    figure = Figure(figsize=(7, 1.3 + 1.1 * len(timings)), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.add_subplot()
    longest = max(max(t.keras_ms, t.ours_ms) for t in timings)
    for k, timing in enumerate(timings):
        values = {"Keras": timing.keras_ms, "tf_rnn_ops": timing.ours_ms}
        for side, (name, milliseconds) in zip((-0.2, 0.2), values.items()):
            axis.barh(k + side, milliseconds, height=0.36, color=_COLORS[name])
            label = f" {name}  {milliseconds:.3g} ms"
            if name == "tf_rnn_ops":
                label += (
                    f"  ({timing.ratio:.2f} times as fast, {timing.low:.2f} to {timing.high:.2f})"
                )
            axis.text(milliseconds, k + side, label, va="center", fontsize=9)
    axis.set_yticks(range(len(timings)), [timing.what for timing in timings])
    axis.invert_yaxis()
    axis.set_xlim(0, 2.1 * longest)  # room for the labels
    axis.set_xlabel("milliseconds of a call; shorter is better")
    axis.set_title("\n".join(textwrap.wrap(where, 90)), fontsize=8, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
