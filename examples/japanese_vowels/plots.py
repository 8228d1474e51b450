"""The two pictures of the demo."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  (after the backend is chosen)
import numpy as np  # noqa: E402
from matplotlib.ticker import MaxNLocator  # noqa: E402

COLORS = ("#0b5cad", "#d9730d")


def losses(path, runs):
    """Draws the training loss and accuracy of each run against the epoch.

    Args:
        path: the PNG to write.
        runs: {label: Run}, at most two.
    """
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for (label, run), color in zip(runs.items(), COLORS):
        epochs = np.arange(1, len(run.losses) + 1)
        # WHY a marker: the line of a single epoch is empty.
        style = {
            "color": color,
            "label": label,
            "linewidth": 1.6,
            "marker": "o" if len(epochs) == 1 else None,
        }
        axes[0].plot(epochs, run.losses, **style)
        axes[1].plot(epochs, run.accuracies, **style)
    axes[0].set_yscale("log")
    axes[0].set_ylabel("cross entropy")
    axes[0].set_title("Training loss")
    axes[1].set_ylabel("share of utterances")
    axes[1].set_title("Training accuracy")
    for axis in axes:
        axis.set_xlabel("epoch")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(True, which="both", alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def confusion(path, matrix, title):
    """Draws a confusion matrix with its counts.

    Args:
        path: the PNG to write.
        matrix: int [S, S], rows are the true speakers, columns the predicted ones.
        title: above the picture.
    """
    figure, axis = plt.subplots(figsize=(6, 5.4), layout="constrained")
    # WHY fractions of a row: the speakers have different numbers of utterances.
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    image = axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(matrix):
        if count:
            axis.text(
                column,
                row,
                str(count),
                ha="center",
                va="center",
                color="white" if shares[row, column] > 0.5 else "black",
            )
    names = np.arange(1, len(matrix) + 1)
    axis.set_xticks(names - 1, names)
    axis.set_yticks(names - 1, names)
    axis.set_xlabel("predicted speaker")
    axis.set_ylabel("true speaker")
    axis.set_title(title)
    figure.colorbar(image, label="share of the true speaker's utterances", shrink=0.85)
    figure.savefig(path, dpi=120)
    plt.close(figure)
