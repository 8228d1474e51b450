"""The build backend: setuptools, and TensorFlow if the target Python has none.

A build needs TensorFlow's headers. The isolated environment of `pip install .` does not contain the
packages of the target environment, but setup.py finds a TensorFlow there. TensorFlow is downloaded for the
build only if there is none.
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
