"""Trains under tf.distribute.MultiWorkerMirroredStrategy: two processes on the loopback interface."""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import sequence_sums
from cluster import Cluster

WORKERS = 2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeout", type=int, default=120, help="seconds for all workers")
    timeout = parser.parse_args().timeout

    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / f"worker_{k}.npz" for k in range(WORKERS)]
        commands = [_command(file, timeout) for file in files]
        with Cluster({"worker": commands}, timeout) as cluster:
            # Meanwhile this process trains on its own, for the comparison.
            alone = sequence_sums.fit(sequence_sums.make_model())
            cluster.wait()
        workers = [dict(np.load(file)) for file in files]

    results = []
    for k, worker in enumerate(workers):
        weights = [worker[f"weight_{j}"] for j in range(len(alone.weights))]
        results.append(sequence_sums.Result(worker["losses"], weights))
        print(
            f"worker {k}: task {worker['task']}, {worker['rows']} rows, "
            f"replicas in all: {worker['replicas']}"
        )
    status = max(
        sequence_sums.report(alone, result, f"worker {k}") for k, result in enumerate(results)
    )
    if max(sequence_sums.differences(*results)) != 0:
        print("the workers ended with different weights")
        status = 1
    return status


def _command(file, timeout):
    script = pathlib.Path(__file__).resolve().with_name("worker.py")
    return [sys.executable, str(script), "--output", str(file), "--timeout", str(timeout)]


if __name__ == "__main__":
    sys.exit(main())
