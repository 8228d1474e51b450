"""Makes a failure of each skip whose reason is not in ALLOWED: hooks of pytest for tests/conftest.py.

`make` installs every package of tools/requirements/test.txt, so a missing package is never a reason.
"""

import importlib.metadata
import importlib.util
import os
import re

import pytest

from support import deadlines


def _is_older(package, version):
    installed = importlib.metadata.version(package)
    return [int(n) for n in installed.split(".")[:2]] < [int(n) for n in version.split(".")]


def _tensorflow():
    return importlib.metadata.packages_distributions()["tensorflow"][0]


_PRETEND = os.environ.get("TF_RNN_OPS_TEST_PRETEND_GPU") == "1"
_ON_A_GPU = os.environ.get("TF_RNN_OPS_TEST_DEVICE", "").startswith("GPU") and not _PRETEND
# The CPU build of PyTorch is not in every package index; tools/setup_venv.sh says so.
_NO_TORCH = importlib.util.find_spec("torch") is None
# Older than those that have everything that a test asks for.
_OLD_KERAS = _is_older("keras", "3.15")
_OLD_TENSORFLOW = _is_older(_tensorflow(), "2.21")

# Where a skip is allowed, and regular expressions for the whole reasons that pytest prints.
ALLOWED = (
    (True, deadlines.LATE),
    (True, r"needs chromium and the site of make docs; .*"),
    (True, r"this CPU has no \w+"),
    (True, r"there is one CPU"),
    (True, r"about instructions of x86-64"),
    (True, r"there is a GPU, so it would run"),
    (True, r"no headers of Python or no compiler"),
    (_ON_A_GPU, r"on a GPU, the tool has run this test"),
    (_ON_A_GPU, r"peaks of memory say it under the pretend driver only"),
    (_NO_TORCH, r"could not import 'torch': .*|needs torch"),
    (_OLD_TENSORFLOW, r"there are no ops for XLA.*"),
    (_OLD_TENSORFLOW, r"no library for XLA was built"),
    (_OLD_TENSORFLOW, r"stacks forbid XLA without the ops for it"),
    (_OLD_TENSORFLOW, r"this TensorFlow has another pfor"),
    (_OLD_TENSORFLOW, r"TensorFlow's package lacks the headers of XLA's FFI"),
    (_OLD_KERAS, r"this Keras (has|sets) .*"),
    (_OLD_KERAS, r"Keras [\d.]+ has no \w+ inputs"),
    (_OLD_KERAS, r"no optional inputs"),
)


def _judge(report):
    """Returns the report; that of a skip that is not allowed becomes that of a failure."""
    if report.skipped and not hasattr(report, "wasxfail"):
        file, line, message = report.longrepr
        reason = message.removeprefix("Skipped: ")
        if not any(holds and re.fullmatch(pattern, reason) for holds, pattern in ALLOWED):
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
