"""Runs the tests of a plan within its deadlines: a plugin of pytest, with --plan and tests/support/plan.py.

The tests are in the order of their classes; within a class the file that takes longest is first. A test of class 3 is left
out when it would start after the soft deadline, and the next run has its file. A test of the other classes
is left out only shortly before the hard deadline; then the run fails.
"""

import itertools
import os
import pathlib
import signal
import time

import pytest

from support import plan as plans
from support import selection

# Time for the tests that run, and for the table of the run, before the run is stopped.
RESERVE_SECONDS = 180
FAILED = plans.PLAN.parent / "failed_tests.txt"
LATE = "the soft deadline has passed; the next run has this file"
TOO_LATE = "the hard deadline is near"


def unit_of(item):
    """The name of a test file in plans: its path in tests/; that on the mock GPU has a prefix."""
    on_mock = os.environ.get("TF_RNN_OPS_TEST_PRETEND_GPU") == "1"
    name = item.path.relative_to(plans.TESTS_DIR).as_posix()
    return f"gpu-mock/{name}" if on_mock else name


def read_features():
    """Names in plans: tests/check.txt, tests/gpu/mock/check.txt, and the acceptance tests of the wheel."""
    files = {"": plans.TESTS_DIR / "check.txt", "gpu-mock/": plans.TESTS_DIR / "gpu/mock/check.txt"}
    return {"package/wheel"} | {
        prefix + line.removeprefix("tests/")
        for prefix, file in files.items()
        for line in file.read_text().split()
    }


def is_feature(unit, function, features):
    """Whether tests/check.txt names the test: a folder, a file or FILE::FUNCTION."""
    return f"{unit}::{function}" in features or plans.is_in(unit, features)


def classes_of(items, plan):
    """The class of each test, None for what the plan does not have."""
    features = read_features()
    usual = selection.is_usual(items)
    classes = []
    for item, is_usual in zip(items, usual, strict=True):
        unit = unit_of(item)
        if is_usual and plans.is_touched(plan, unit):
            classes.append(plans.TOUCHED)
        elif is_usual and is_feature(unit, getattr(item, "originalname", None), features):
            classes.append(plans.FEATURE)
        else:
            classes.append(plans.OTHERS if plans.is_due(plan, unit) else None)
    return classes


class Budget:
    """The plugin. Each worker of pytest-xdist has one, and so has the process that starts them."""

    def __init__(self, plan):
        self._plan = plan
        self._classes = {}
        self._seconds, self._late, self._too_late = {}, set(), set()
        self._running = None
        if worker := os.environ.get("PYTEST_XDIST_WORKER"):
            self._running = plans.PLAN.parent / "running" / worker
            self._running.parent.mkdir(parents=True, exist_ok=True)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        chosen = classes_of(items, self._plan)
        self._classes = dict(zip(items, chosen, strict=True))
        config.hook.pytest_deselected(items=[i for i in items if self._classes[i] is None])
        groups = {}
        for item in items:
            if self._classes[item] is not None:
                key = (item.path, self._classes[item] == plans.OTHERS)
                groups.setdefault(key, []).append(item)

        def order(group):
            first_class = min(self._classes[item] for item in group)
            return first_class, -self._plan["seconds"].get(unit_of(group[0]), 0)

        items[:] = itertools.chain.from_iterable(sorted(groups.values(), key=order))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        now = time.time()
        if self._classes.get(item) == plans.OTHERS and now > self._plan["soft"]:
            pytest.skip(LATE)
        if now > self._plan["hard"] - RESERVE_SECONDS:
            pytest.skip(TOO_LATE)

    def pytest_runtest_logstart(self, nodeid):
        # For .ci/run, which says what it stops.
        if self._running:
            self._running.write_text(nodeid)

    def pytest_runtest_logreport(self, report):
        if not self._running:
            self._count(report)

    def _count(self, report):
        file = report.nodeid.split("::")[0].removeprefix("tests/")
        if os.environ.get("TF_RNN_OPS_TEST_PRETEND_GPU") == "1":
            file = f"gpu-mock/{file}"
        self._seconds[file] = self._seconds.get(file, 0) + report.duration
        if report.failed:
            # At once: a run that is stopped prints no summary.
            FAILED.parent.mkdir(exist_ok=True)
            with FAILED.open("a") as failed:
                failed.write(f"{report.nodeid}\n")
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2]
            if reason.endswith(LATE):
                self._late.add(file)
            elif reason.endswith(TOO_LATE):
                self._too_late.add(file)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if self._running:
            self._running.unlink(missing_ok=True)
            return
        left_out = self._late | self._too_late
        memory = plans.Memory()
        memory.left_out -= self._seconds.keys()
        memory.left_out |= left_out
        memory.seconds |= {f: s for f, s in self._seconds.items() if f not in left_out}
        memory.save()
        if self._too_late and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        for files, sentence in (
            (self._late, "left out behind the soft deadline, the next run here has them"),
            (self._too_late, "NOT RUN, the hard deadline was near: the run fails"),
        ):
            if files:
                terminalreporter.section(sentence)
                for file in sorted(files):
                    terminalreporter.write_line(file)


def add_to(config):
    """Registers the plugin if the command line has a plan."""
    if file := config.getoption("--plan"):
        if not pathlib.Path(file).is_file():
            raise pytest.UsageError(f"--plan={file}: there is no such file; plan.py write makes it")
        config.pluginmanager.register(Budget(plans.read(file)), "budget")
        if "PYTEST_XDIST_WORKER" not in os.environ:
            # As Ctrl-C: a run that .ci/run stops prints its failures and saves the seconds of its files.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
