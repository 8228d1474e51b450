"""Ends a run of tests in time: a plugin of pytest.

TF_RNN_OPS_CI_SOFT: seconds after the start of pytest (1800); after them, no test starts that only has its turn.
TF_RNN_OPS_CI_END: seconds since 1970, from .ci/run; then what runs ends as if it hung, and the run fails.
"""

import os
import re
import time

import pytest

from support import selection

LATE = "the soft deadline has passed"
# Workers of pytest-xdist inherit it.
BEGAN = "TF_RNN_OPS_TESTS_BEGAN"


def seconds(variable, default):
    text = os.environ.get(variable, default)
    if not re.fullmatch(r"\d+", text):
        raise pytest.UsageError(f"{variable}={text}: a whole number of seconds is expected")
    return int(text)


class Deadlines:
    def __init__(self):
        began = float(os.environ.setdefault(BEGAN, str(time.time())))
        self._soft = began + seconds("TF_RNN_OPS_CI_SOFT", "1800")
        self._end = seconds("TF_RNN_OPS_CI_END", "0") or float("inf")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        # pytest-timeout prints what the test does, and pytest-xdist goes on without it.
        left = max(self._end - time.time(), 1)
        item.add_marker(pytest.mark.timeout(min(float(item.config.getini("timeout")), left)))
        result = yield
        if time.time() > self._end:
            item.session.shouldstop = "the hard deadline has come"
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if item.stash.get(selection.IN_TURN, False) and time.time() > self._soft:
            pytest.skip(LATE)
