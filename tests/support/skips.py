"""Makes a failure of each skip whose reason is not in ALLOWED: hooks of pytest for tests/conftest.py.

`make` installs every package of tools/requirements/test.txt, so a missing package is never a reason.
"""

import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from support import budget

# The Keras that has everything that a test asks for.
KERAS = "3.15"


class Skip(NamedTuple):
    """An allowed skip.

    Attributes:
        reason: A regular expression for the whole reason that pytest prints.
        why: Why the test may be skipped.
        applies: Whether this holds here. The test fails where it does not.
    """

    reason: str
    why: str
    applies: Callable[[], bool] = lambda: True


def _minor(version):
    return [int(part) for part in version.split(".")[:2]]


def _old_keras():
    return _minor(importlib.metadata.version("keras")) < _minor(KERAS)


def _old_tensorflow():
    import tensorflow as tf

    from tf_rnn_ops.native import versions

    return _minor(tf.__version__) < _minor(versions.TENSORFLOW[-1])


def _on_a_gpu():
    device = os.environ.get("TF_RNN_OPS_TEST_DEVICE", "CPU:0")
    return device.startswith("GPU") and os.environ.get("TF_RNN_OPS_TEST_PRETEND_GPU") != "1"


def _no_torch():
    return importlib.util.find_spec("torch") is None


_TORCH = "the CPU build of PyTorch is not in every package index; tools/setup_venv.sh says so"
_TENSORFLOW = "an older TensorFlow"
_KERAS = "an older Keras"
ALLOWED = (
    # A run with deadlines, which names the files.
    Skip(re.escape(budget.LATE), "the next run has it"),
    Skip(re.escape(budget.TOO_LATE), "the run fails"),
    # The machine.
    Skip(r"needs chromium and the site of make docs; .*", "make test-docs runs these tests"),
    Skip(r"this CPU has no \w+", "an instruction set"),
    Skip(r"there is one CPU", "what is tested needs two threads"),
    Skip(r"about instructions of x86-64", "the machine has another processor"),
    Skip(r"there is a GPU, so it would run", "a message for machines without a GPU"),
    Skip(r"on a GPU, the tool has run this test", "about the mock GPU", _on_a_gpu),
    Skip(r"peaks of memory say it under the pretend driver only", "about the mock GPU", _on_a_gpu),
    # Packages and versions.
    Skip(r"could not import 'torch': .*", _TORCH, _no_torch),
    Skip(r"needs torch", _TORCH, _no_torch),
    Skip(r"there are no ops for XLA.*", _TENSORFLOW, _old_tensorflow),
    Skip(r"no library for XLA was built", _TENSORFLOW, _old_tensorflow),
    Skip(r"stacks forbid XLA without the ops for it", _TENSORFLOW, _old_tensorflow),
    Skip(r"this TensorFlow has another pfor", _TENSORFLOW, _old_tensorflow),
    Skip(r"TensorFlow's package lacks the headers of XLA's FFI", _TENSORFLOW, _old_tensorflow),
    Skip(r"this Keras (has|sets) .*", _KERAS, _old_keras),
    Skip(r"Keras [\d.]+ has no \w+ inputs", _KERAS, _old_keras),
    Skip(r"no optional inputs", _KERAS, _old_keras),
)


def is_allowed(reason: str) -> bool:
    """Whether a test may be skipped here for a reason."""
    return any(re.fullmatch(skip.reason, reason) and skip.applies() for skip in ALLOWED)


def _judge(report):
    """Returns the report; that of a skip that is not allowed becomes that of a failure."""
    if report.skipped and not hasattr(report, "wasxfail"):
        file, line, message = report.longrepr
        reason = message.removeprefix("Skipped: ")
        if not is_allowed(reason):
            report.outcome = "failed"
            report.longrepr = (
                f"{file}:{line}: skipped, because: {reason}\n"
                "tests/support/skips.py does not allow this skip here."
            )
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport():
    return _judge((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report():
    return _judge((yield))
