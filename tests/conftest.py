"""Paths and fixtures shared by every Python test.

The folder of this file goes on sys.path, so tests write `from reference import rnn` and
`from support import cases`. The repository root does not: the package under test is the one that
the environment provides (PYTHONPATH or an installed wheel).
"""

import gc
import os
import pathlib
import sys
import zlib

import pytest

TESTS_DIR = pathlib.Path(__file__).resolve().parent
if str(TESTS_DIR) not in sys.path:
    sys.path.insert(0, str(TESTS_DIR))

from support import deadlines, selection  # noqa: E402
from support.skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: E402, F401

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# The references multiply small matrices; threads that spin only take the cores from the ops.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_addoption(parser):
    parser.addoption(
        "--tests",
        choices=[selection.USUAL, selection.ALL, selection.LANDING],
        help="those of `make test` (the default), all, or those of .ci/run: support/selection.py",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: for `make test-all` alone")
    config.pluginmanager.register(deadlines.Deadlines())
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Failures(config))


class Failures:
    """Names each failure at once: a run that is stopped prints no summary."""

    def __init__(self, config):
        self._config = config

    def pytest_runtest_logreport(self, report):
        if report.failed:
            terminal = self._config.pluginmanager.get_plugin("terminalreporter")
            terminal.write_line(f"\nfailed: {report.nodeid}")


def pytest_collection_modifyitems(config, items):
    selection.select(config, items)


def pytest_collection_finish():
    # Keras collects garbage for each variable that quantize() replaces; the modules and the collected
    # tests, which live as long as the process, would make each of these collections slow.
    gc.collect()
    gc.freeze()


def _seed(item):
    """A number that is the same in each run of a test, wherever its file is."""
    return zlib.crc32(item.nodeid.split("/")[-1].encode())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Weights that a test does not draw itself are the same in each run, so a failure comes again."""
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(_seed(item))


@pytest.fixture
def rng(request):
    """A numpy generator seeded from the test's own id; the seed is printed when the test fails."""
    import numpy as np

    seed = _seed(request.node)
    print(f"seed of {request.node.nodeid}: {seed}")
    return np.random.default_rng(seed)
