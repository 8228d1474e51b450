"""Makes a failure of each skip whose reason is not in ALLOWED: hooks of pytest for tests/conftest.py.

`make` installs every package of tools/requirements/test.txt, so a missing package is never a reason.
"""

import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Callable

import pytest

from support import budget

# The Keras that has everything that a test asks for.
KERAS = "3.15"


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


def _always():
    return True


# {whether they hold here: regular expressions for the whole reasons that pytest prints}.
ALLOWED: dict[Callable[[], bool], tuple[str, ...]] = {
    _always: (
        # A run with deadlines, which names the files: the next run has them, or the run fails.
        re.escape(budget.LATE),
        re.escape(budget.TOO_LATE),
        r"needs chromium and the site of make docs; .*",
        # The machine.
        r"this CPU has no \w+",
        r"there is one CPU",
        r"about instructions of x86-64",
        r"there is a GPU, so it would run",
        r"no headers of Python or no compiler",
    ),
    _on_a_gpu: (
        r"on a GPU, the tool has run this test",
        r"peaks of memory say it under the pretend driver only",
    ),
    # The CPU build of PyTorch is not in every package index; tools/setup_venv.sh says so.
    _no_torch: (r"could not import 'torch': .*", r"needs torch"),
    _old_tensorflow: (
        r"there are no ops for XLA.*",
        r"no library for XLA was built",
        r"stacks forbid XLA without the ops for it",
        r"this TensorFlow has another pfor",
        r"TensorFlow's package lacks the headers of XLA's FFI",
    ),
    _old_keras: (
        r"this Keras (has|sets) .*",
        r"Keras [\d.]+ has no \w+ inputs",
        r"no optional inputs",
    ),
}


def is_allowed(reason: str) -> bool:
    """Whether a test may be skipped here for a reason."""
    return any(
        re.fullmatch(pattern, reason) and holds()
        for holds, patterns in ALLOWED.items()
        for pattern in patterns
    )


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
