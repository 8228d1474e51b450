"""Values that one worker of pytest-xdist makes for all workers."""

import fcntl
import os
import shutil


def folder_of_all_workers(tmp_path_factory, name, fill):
    """The folder of this name, which the first worker that asks for it fills: fill(folder).

    The others wait. Where `fill` fails, the next one tries again.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, filled = base / name, base / f"{name}.filled"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not filled.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fill(folder)
            filled.touch()
    return folder
