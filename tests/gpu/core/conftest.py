"""Mock libraries with which run.py runs on this machine as on a GPU."""

import pathlib
import subprocess
import sys

import pytest

from gpu.core import stand_ins
from support.shared import folder_of_all_workers

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """A folder with the core and with a mock driver, a mock cuBLAS and a mock cuDNN."""

    def build(folder):
        built = stand_ins.start_building(folder)
        built.append(subprocess.Popen([HERE / "build.sh", folder], stdout=subprocess.DEVNULL))
        assert [process.wait() for process in built] == [0, 0, 0, 0]

    return folder_of_all_workers(tmp_path_factory, "gpu_core", build)


@pytest.fixture
def rehearse(libraries):
    """A function that runs run.py on the mock libraries: (arguments, **environment)."""

    def run(*arguments, script=HERE / "run.py", **variables):
        command = [sys.executable, "-B", script, "--pretend", "--library", libraries / "libcore.so"]
        command += map(str, arguments)
        env = stand_ins.environment(libraries, **variables)
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    return run
