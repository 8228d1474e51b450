"""A control group with a limit of CPU time, if this process may make one."""

import contextlib
import os
import pathlib
import shutil

_TOP = pathlib.Path("/sys/fs/cgroup")
_PERIOD_US = 100000


def _settings(cpus):
    """For each version of control groups the folder of the controller, and {file: text}."""
    quota = int(cpus * _PERIOD_US)
    return {
        _TOP / "cpu": {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota)},
        _TOP: {"cpu.max": f"{quota} {_PERIOD_US}"},
    }


@contextlib.contextmanager
def cpu_quota(cpus):
    """Makes a group that gets `cpus` seconds of CPU time a second.

    Yields:
        A command that runs its arguments in the group, as a list; None if no group can be made.
    """
    for parent, files in _settings(cpus).items():
        group = parent / f"tf_rnn_ops_benchmark_{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            for name, text in files.items():
                (group / name).write_text(text)
        except OSError:
            group.rmdir()
            continue
        break
    else:
        yield None
        return
    try:
        join = 'echo $$ > "$0" && exec "$@"'
        yield [shutil.which("sh"), "-c", join, str(group / "cgroup.procs")]
    finally:
        # This fails while a process of the group still runs.
        with contextlib.suppress(OSError):
            group.rmdir()
