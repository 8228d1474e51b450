"""On a GPU, prints how much of its bound each test uses, as soon as it is known.

The bounds are those of the CPU. Whether cuDNN keeps them is to be seen, not only where it does not.
"""

import os

import pytest

from gpu.device.conftest import everything_else_on_the_cpu  # noqa: F401
from support import bounds

# Not from support.devices, which imports TensorFlow: most tests of this folder do without it.
_ON_GPU = os.environ.get("TF_RNN_OPS_TEST_DEVICE", "").startswith("GPU")
# It has the cases and bounds of ops/test_*_reference.py and ops/test_dropout.py, which run on the CPU.
collect_ignore = [] if _ON_GPU else ["test_device_parity.py"]
_SHARE = "share of the bound"
_config = None


def pytest_configure(config):
    global _config
    _config = config


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    bounds.reported.clear()
    yield
    if bounds.reported:
        item.user_properties.append((_SHARE, max(bounds.reported)))


def pytest_runtest_logreport(report):
    # With pytest-xdist: in the process that has the terminal, from what the others send.
    terminal = _config.pluginmanager.get_plugin("terminalreporter")
    if report.when != "call" or not _ON_GPU or terminal is None:
        return
    for name, value in report.user_properties:
        if name == _SHARE:
            # On a line of its own, whatever stands there: tools/test_gpu.py reads it.
            terminal.write(f"\n{value:.2g} of the bound: {report.nodeid.rpartition('::')[2]}\n")
