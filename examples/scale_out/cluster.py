"""Starts the processes of a cluster on this machine, and always ends all of them."""

import json
import os
import signal
import socket
import subprocess
import time


class ClusterError(RuntimeError):
    """A task failed or took too long."""


def free_addresses(count):
    """Returns `count` addresses of the loopback interface with free ports."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Cluster:
    """A context manager that runs one command per task, each with its own TF_CONFIG.

    Leaving the block ends every process that still runs, and its children.

    Attributes:
        addresses: {job: addresses of its tasks}.
    """

    def __init__(self, jobs, timeout_s):
        """Describes the cluster.

        Args:
            jobs: {job, such as 'worker' or 'ps': list of commands, one for each task}. A command is a list
                of arguments.
            timeout_s: The time limit of all tasks together, from the start of the block.
        """
        self._tasks = [(job, k) for job, commands in jobs.items() for k in range(len(commands))]
        self._jobs = jobs
        self._timeout_s = timeout_s
        self._processes = []

    def __enter__(self):
        self._deadline = time.monotonic() + self._timeout_s
        free = iter(free_addresses(len(self._tasks)))
        self.addresses = {job: [next(free) for _ in self._jobs[job]] for job in self._jobs}
        try:
            for job, index in self._tasks:
                command = self._jobs[job][index]
                config = {"cluster": self.addresses, "task": {"type": job, "index": index}}
                environment = {**os.environ, "TF_CONFIG": json.dumps(config)}
                self._processes.append(
                    subprocess.Popen(command, env=environment, start_new_session=True)
                )
        except BaseException:
            self._end_all()
            raise
        return self

    def __exit__(self, *exception):
        self._end_all()

    def wait(self):
        """Waits until all tasks have succeeded.

        Raises:
            ClusterError: A task failed, or the time is over. Other tasks would wait for the failed task,
                so they are ended at once.
        """
        while True:
            states = [process.poll() for process in self._processes]
            failed = [k for k, state in enumerate(states) if state not in (None, 0)]
            if failed:
                self._end_all()
                job, k = self._tasks[failed[0]]
                raise ClusterError(f"{job} {k} ended with exit status {states[failed[0]]}.")
            if None not in states:
                return
            if time.monotonic() > self._deadline:
                late = [f"{job} {k}" for (job, k), s in zip(self._tasks, states) if s is None]
                self._end_all()
                raise ClusterError(f"After {self._timeout_s} s still running: {', '.join(late)}.")
            time.sleep(0.05)

    def _end_all(self):
        for process in self._processes:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # It ended by itself at this moment.
                process.wait()
