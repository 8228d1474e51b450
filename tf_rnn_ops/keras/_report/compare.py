"""compare: the speed of a model on the layers of this package and on Keras's layers."""

import dataclasses
import functools
from typing import Any, Callable

import keras
import numpy as np
import tensorflow as tf

from tf_rnn_ops._comparison.differences import largest_difference
from tf_rnn_ops._python import checks
from tf_rnn_ops.keras._convert import carry, pairs
from tf_rnn_ops.keras._convert.convert import (
    check_counterparts,
    check_quantize,
    convert_silently,
    converted,
    recurrent_layers,
)
from tf_rnn_ops.keras._internals.layers import flatten_layers
from tf_rnn_ops.keras._report import one_batch
from tf_rnn_ops.keras._report.explain import Explanations, explain
from tf_rnn_ops.keras._report.progress import Progress
from tf_rnn_ops.keras._report.shown import Shown
from tf_rnn_ops.keras._report.timing import Timing, take_turns, timing_of
from tf_rnn_ops.keras.dispatch import decision, environment
from tf_rnn_ops.keras.layers import quantization
from tf_rnn_ops.native import machine

_OF_INT8 = (
    "Recurrent layers of tf_rnn_ops have int8 weights, and Keras's layers float weights. The difference is "
    "the error of 8 bits."
)


@dataclasses.dataclass(frozen=True, repr=False)
class ModelComparison(Shown):
    """The result of compare(). table() returns the table as text.

    Attributes:
        timings: A list of Timing.
        difference: Largest absolute difference of the outputs in inference.
        largest: Largest absolute output, the scale of `difference`.
        layers: The result of explain() for the converted model.
        where: The processor, the threads and the sizes of the batch.
        quantized: Whether recurrent layers of the converted model have int8 weights.
        printed: Whether compare() has printed the table.

    Example:
        >>> import keras
        >>> import numpy as np
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.GRU(4)])
        >>> found = tf_rnn_ops.keras.compare(
        ...     model, np.ones((2, 5, 3), "float32"), repeats=1, print_fn=None)
        >>> found.summary().startswith("inference")
        True
    """

    timings: list[Timing]
    difference: float
    largest: float
    layers: Explanations
    where: str
    quantized: bool = False
    printed: bool = False

    def summary(self) -> str:
        """The ratios."""
        return ", ".join(f"{timing.name} {timing.ratio:.2f} x" for timing in self.timings)

    def tables(self) -> list:
        """The times, the explanation of the times, and the table of explain()."""
        head = ("", "Keras", "tf_rnn_ops", "ratio", "quartiles")
        lines: list[tuple[str, ...]] = [head]
        for timing in self.timings:
            times = [f"{ms:.2f} ms" for ms in (timing.keras_ms, timing.ours_ms)]
            spread = f"{timing.low:.2f} to {timing.high:.2f}"
            lines.append((timing.name, *times, f"{timing.ratio:.2f} x", spread))
        return [
            self.where,
            lines,
            "Medians of a call. A ratio above 1 means that tf_rnn_ops is faster. The quartiles are of the "
            "ratios of adjacent calls.",
            f"Largest difference of the outputs: {self.difference:.1e}. Largest output: {self.largest:.1e}.",
            *([_OF_INT8] if self.quantized else []),
            *self.layers.tables(),
        ]


def compare(
    model: keras.Model,
    x: Any,
    y: Any = None,
    *,
    repeats: int = 20,
    print_fn: Callable[[str], Any] | None = print,
    quantize: str | None = None,
) -> ModelComparison:
    """Times a model on Keras's layers and on the layers of this package, and compares the outputs.

    Both models are copies that convert() makes. The given model does not change. Calls of the two models
    alternate, so that other work of the machine slows both down.

    If the given model has recurrent layers with int8 weights, the model on Keras's layers has their
    dequantized weights.

    Args:
        model: A Keras 3 model that convert() can copy in both directions. It need not be built.
        x: One batch of its inputs, in the form for predict_on_batch; or a tf.data.Dataset, a
            keras.utils.PyDataset or an iterator, in the form for fit, of which only the first batch is
            used.
        y: The batch of its targets, to time also a training step. The model must be compiled. The targets
            of a dataset are used if the model is compiled.
        repeats: Number of calls of each model, at least 1.
        print_fn: A function that is called with the table; None prints nothing. A line that tells
            what runs is only shown with `print` on a terminal.
        quantize: 'int8' quantizes the weights of the copy on the layers of this package, as in convert().

    Returns:
        A ModelComparison. A shell or a notebook shows its table if it has not been printed.

    Raises:
        TypeError: model is not a Keras 3 model, or print_fn is not a function.
        ValueError: convert() cannot copy the model, quantize is unknown, x is not a batch, y is given and the model is not
            compiled, or repeats is not a positive integer.

    Example:
        >>> import keras
        >>> import numpy as np
        >>> import tf_rnn_ops.keras
        >>> model = keras.Sequential([keras.Input((None, 3)), keras.layers.LSTM(4)])
        >>> x = np.ones((2, 5, 3), "float32")
        >>> found = tf_rnn_ops.keras.compare(model, x, repeats=3, print_fn=None)
        >>> [timing.name for timing in found.timings], found.difference < 1e-6
        (['inference'], True)
    """
    environment.check_model(model)
    checks.check_size("repeats", repeats)
    checks.check_print_fn(print_fn)
    check_quantize(quantize)
    if y is not None and not model.compiled:
        raise ValueError("y is given, but the model is not compiled: call model.compile first.")
    x, y, weights = one_batch.first_batch(x, y)
    with Progress(print_fn) as progress:
        comparison = _compared(
            model, x, y, weights, repeats, quantize, progress, print_fn is not None
        )
    if print_fn is not None:
        print_fn(comparison.table())
    return comparison


def _compared(
    model: keras.Model,
    x: Any,
    y: Any,
    weights: Any,
    repeats: int,
    quantize: str | None,
    progress: Progress,
    printed: bool,
) -> ModelComparison:
    progress.show("copying the model")
    models = _copies(model, x, quantize)
    progress.show("comparing the outputs")
    outputs = [keras.tree.flatten(model.predict_on_batch(x)) for model in models]
    both = [[np.asarray(a, np.float64) for a in pair] for pair in zip(*outputs, strict=True)]

    steps = {"inference": lambda model: model.predict_on_batch(x)}
    if y is not None and model.compiled:
        steps["training step"] = lambda model: model.train_on_batch(x, y, weights)
    timings = []
    for name, step in steps.items():
        progress.show(f"{name}: the first calls")
        turns = lambda turn, name=name: progress.show(f"{name}: {turn} of {repeats}")  # noqa: E731
        calls = [functools.partial(step, model) for model in models]
        timings.append(timing_of(name, *take_turns(calls, repeats, turns)))
    return ModelComparison(
        timings=timings,
        difference=float(np.max([0.0, *(largest_difference(a, b) for a, b in both)])),
        largest=float(np.max([0.0, *(np.max(np.abs(a), initial=0) for a, _ in both)])),
        layers=explain(models[1], print_fn=None),
        where=f"{machine.processor()}, threads: {machine.threads(tf)}; batch: {one_batch.sizes(x)}",
        quantized=any(map(decision.is_quantized, recurrent_layers(models[1]))),
        printed=printed,
    )


def _copies(model: keras.Model, x: Any, quantize: str | None) -> tuple[Any, Any]:
    """The model on Keras's layers and on the layers of this package, with the same weights."""
    if quantize is not None or all(layer.built for layer in flatten_layers(model)):
        return _on_keras(model), convert_silently(model, quantize=quantize)
    # Without weights to copy, each copy would draw its own weights at its first call.
    ours = convert_silently(model)
    models = _on_keras(model), ours
    for copy in models:
        copy.predict_on_batch(x)
    carry.carry_state(pairs.pair(*models))
    return models


def _on_keras(model: keras.Model) -> Any:
    """The model on Keras's layers, with float weights. It may call functions of this package."""
    if any(map(decision.is_quantized, recurrent_layers(model))):
        model = convert_silently(model)
        for layer in recurrent_layers(model):
            quantization.dequantize(layer)
    check_counterparts(model)
    return converted(model, "keras")
