"""Measures the server under load: python load.py [--clients N] [--seconds S] [--rounds R]

Starts server.py once with the layers of tf_rnn_ops and once with Keras's layers. Clients send requests of
sequences of 1 to 60 tokens. Prints the latency and the requests per second of both servers.
"""

import argparse
import contextlib
import http.client
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import keras
import write_model

import tf_rnn_ops.keras

LONGEST = 60


@contextlib.contextmanager
def served(folder, *arguments):
    """Runs server.py on `folder`. Yields its host and port."""
    script = pathlib.Path(__file__).with_name("server.py")
    command = [sys.executable, str(script), str(folder), "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip().removeprefix("http://")
        finally:
            server.terminate()


def client(address, until, seed, seconds_of_requests):
    """Sends one request after the other, and appends the time of each."""
    draw = random.Random(seed)
    connection = http.client.HTTPConnection(address)
    while time.perf_counter() < until:
        tokens = [draw.randrange(1, write_model.TOKENS) for _ in range(draw.randint(1, LONGEST))]
        body = json.dumps({"instances": [tokens]})
        begin = time.perf_counter()
        connection.request("POST", "/predict", body)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}: {content!r}")
        seconds_of_requests.append(time.perf_counter() - begin)


def measure(address, clients, seconds):
    """Returns the seconds of all requests that `clients` threads made."""
    times = []
    until = time.perf_counter() + seconds
    threads = [
        threading.Thread(target=client, args=(address, until, seed, times))
        for seed in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--clients",
        type=int,
        default=32,
        help="clients that ask at the same time (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds", type=float, default=5, help="seconds of each round (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="rounds, each with both servers in turn (default: %(default)s)",
    )
    options = parser.parse_args()
    layers = {"tf_rnn_ops": tf_rnn_ops.keras.layers, "Keras": keras.layers}
    times = {name: [] for name in layers}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as servers:
        addresses = {}
        for name in layers:
            write_model.write(f"{folder}/{name}", 1, layers[name])
            addresses[name] = servers.enter_context(served(f"{folder}/{name}"))
            measure(addresses[name], options.clients, options.seconds / 5)  # Not counted.
        for _ in range(options.rounds):
            for name, address in addresses.items():
                times[name] += measure(address, options.clients, options.seconds)
    print(f"{options.clients} clients, sequences of 1 to {LONGEST} tokens")
    print("layers        requests/s   median ms   99 % ms")
    for name, taken in times.items():
        middle, slow = statistics.median(taken), statistics.quantiles(taken, n=100)[98]
        rate = len(taken) / (options.rounds * options.seconds)
        print(f"{name:12} {rate:11.0f} {1000 * middle:11.1f} {1000 * slow:9.1f}")


if __name__ == "__main__":
    main()
