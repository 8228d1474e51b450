"""The example's cluster ends every process, whatever happens to one of them."""

import json
import os
import sys

import cluster
import pytest

SLEEP = "import time; time.sleep(600)"


def _python(code):
    return [sys.executable, "-S", "-c", code]


def _assert_gone(processes):
    assert processes
    for process in processes:
        assert process.poll() is not None
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


def test_every_worker_gets_its_own_task(tmp_path):
    code = "import os, sys; open(sys.argv[1], 'w').write(os.environ['TF_CONFIG'])"
    files = [tmp_path / str(k) for k in range(3)]
    with cluster.Cluster({"worker": [[*_python(code), str(file)] for file in files]}, 60) as three:
        three.wait()
    configs = [json.loads(file.read_text()) for file in files]
    assert [config["task"] for config in configs] == [
        {"type": "worker", "index": k} for k in range(3)
    ]
    assert configs[0]["cluster"] == configs[1]["cluster"] == configs[2]["cluster"]
    addresses = configs[0]["cluster"]["worker"]
    assert len(set(addresses)) == 3
    assert all(address.startswith("127.0.0.1:") for address in addresses)


@pytest.mark.parametrize(
    ("code", "timeout", "named"),
    [("raise SystemExit(3)", 300, "worker 1 ended with exit status 3"), ("", 2, "worker 0")],
)
def test_a_failure_or_a_timeout_ends_all(code, timeout, named):
    with cluster.Cluster({"worker": [_python(SLEEP), _python(code)]}, timeout) as two:
        with pytest.raises(cluster.ClusterError, match=named):
            two.wait()
        _assert_gone(two._processes)


def test_leaving_the_block_ends_all():
    with pytest.raises(KeyboardInterrupt):
        with cluster.Cluster({"worker": [_python(SLEEP)] * 2}, 300) as two:
            raise KeyboardInterrupt
    _assert_gone(two._processes)


def test_the_children_of_a_worker_end_too(tmp_path):
    # The reader sees the end of the pipe when the last process that can write to it is gone.
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    code = (
        f"import os; pipe = open({str(fifo)!r}, 'w'); os.fork(); "
        "print('up', file=pipe, flush=True); "
    )
    with cluster.Cluster({"worker": [_python(code + SLEEP)]}, 300):
        pipe = open(fifo)
        assert [pipe.readline(), pipe.readline()] == ["up\n", "up\n"]
    with pipe:
        assert pipe.read() == ""
