"""Trained models keep their accuracy in int8: the metric and the outputs."""

import pathlib
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benchmarks import accuracy_int8, trained  # noqa: E402

# The errors of a sequence, divided by its largest output, have a mean below one step of 8 bits. Scales that are wrong
# by 5 % are errors of three steps and more.
STEP = 1 / 127
SMALL_SERIES = {"epochs": 2, "series": 4, "windows": 24}
TASKS = {
    "forecast_lstm": SMALL_SERIES,
    "forecast_gru": SMALL_SERIES,
    "vowels": {"epochs": 12},
    "speech": {"tested": 400},
}
USUAL = ("forecast_lstm", "forecast_gru")


@pytest.fixture(
    scope="module",
    params=[
        name if name in USUAL else pytest.param(name, marks=pytest.mark.thorough) for name in TASKS
    ],
)
def tested(request):
    """A Task, its outputs in float32, and its outputs in int8."""
    task = trained.TASKS[request.param](**TASKS[request.param])
    exact = task.outputs()
    return task, exact, accuracy_int8.quantized_outputs(task)


def mean_error(exact, outputs):
    return float(np.mean(accuracy_int8.errors(outputs, exact)))


def test_outputs(tested):
    _, exact, outputs = tested
    assert 0 < mean_error(exact, outputs) < STEP


@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_wrong_scales_are_found(tested, factor):
    """Metrics of right items hide such a fault; the outputs do not."""
    task, exact, _ = tested
    # Not those of Dense.
    scales = [
        v for v in task.model.variables if v.path.endswith("kernel_scale") and "cell" in v.path
    ]
    assert len(scales) >= 4
    right = [np.array(scale) for scale in scales]
    for scale in scales:
        scale.assign(scale * factor)
    try:
        outputs = task.outputs()
    finally:
        for scale, value in zip(scales, right):
            scale.assign(value)
    assert mean_error(exact, outputs) > STEP
