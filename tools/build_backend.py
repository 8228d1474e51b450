"""The build backend: setuptools, plus TensorFlow where the target Python has none.

A build needs TensorFlow's headers. The isolated environment of `pip install .` sees nothing of the
environment it installs into, but setup.py finds a TensorFlow there. Only where there is none is one
downloaded for the build.
"""

import os
import sysconfig

from setuptools.build_meta import *  # noqa: F403  (the hooks of PEP 517)
from setuptools.build_meta import get_requires_for_build_wheel as _requires
from wheel_description import SBOM_TOOL, TENSORFLOW


def get_requires_for_build_wheel(config_settings=None):
    requires = [*_requires(config_settings), SBOM_TOOL]
    installed = os.path.join(sysconfig.get_path("purelib"), "tensorflow", "include")
    return requires if os.path.isdir(installed) else [*requires, TENSORFLOW]


get_requires_for_build_editable = get_requires_for_build_wheel
