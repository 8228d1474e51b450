#!/usr/bin/env python3
"""How fast the GPU core is beside PyTorch's layers on the same cuDNN, as a Markdown table.

    python3 tests/gpu_core/timings.py build/gpu_core/libcore.so

A column per policy of TF_RNN_OPS_CUDNN_ALGO, each measured in a process of its own. Times are medians
in microseconds of one forward and backward pass, from events on the stream, host time included
where the device waits for it. PyTorch's includes its autograd.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys

import core
import torch

from reference.spec import RnnSpec

# T, B, I, H, L, dropout
SHAPES = (
    (100, 1, 128, 128, 1, 0),
    (100, 1, 512, 512, 1, 0),
    (100, 8, 256, 256, 1, 0),
    (50, 32, 256, 256, 2, 0),
    # What seeding the generator at each call costs is the difference from the row above.
    (50, 32, 256, 256, 2, 0.5),
    (100, 64, 512, 512, 1, 0),
    (200, 16, 128, 128, 2, 0),
)
DTYPES = {"float32": torch.float32, "float16": torch.float16}
POLICIES = ("standard", "auto")


def median_time(step, repeats=30):
    """Microseconds of step(), after three calls that do not count."""
    times = []
    for number in range(repeats + 3):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        step()
        end.record()
        end.synchronize()
        if number >= 3:
            times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times)


def time_core(device_core, mode, shape, dtype):
    steps, batch, inputs, units, layers, dropout = shape
    spec = RnnSpec(mode, layers, units, inputs)
    arrays = core.random_inputs(spec, steps, batch, dtype)
    tensors = [None if a is None else torch.from_numpy(a).to("cuda", dtype) for a in arrays]
    problem = device_core.problem(spec, tensors[0], [steps] * batch, dropout=dropout, seed=1)

    def step():
        outputs = device_core.forward(spec, problem, *tensors[:4])
        device_core.backward(spec, problem, tensors[:4], outputs, tensors[4:])

    return median_time(step)


def time_torch(mode, shape, dtype):
    steps, batch, inputs, units, layers, dropout = shape
    kind = torch.nn.LSTM if mode == "lstm" else torch.nn.GRU
    layer = kind(inputs, units, layers, dropout=dropout, device="cuda", dtype=dtype)
    x = torch.randn(steps, batch, inputs, device="cuda", dtype=dtype, requires_grad=True)
    dy = torch.randn(steps, batch, units, device="cuda", dtype=dtype)
    leaves = (x, *layer.parameters())
    return median_time(lambda: torch.autograd.grad(layer(x)[0], leaves, dy))


def measure(library):
    """Yields the times of each case, of this process's policy."""
    # As in the core, whose problems do not allow TF32 here.
    torch.backends.cudnn.allow_tf32 = False
    torch.nn.LSTM(2, 2, device="cuda")(torch.zeros(1, 1, 2, device="cuda"))
    device_core = core.Core(library)
    for mode, (name, dtype), shape in itertools.product(("lstm", "gru"), DTYPES.items(), SHAPES):
        yield {
            "case": [mode, name, *shape],
            "core": time_core(device_core, mode, shape, dtype),
            "torch": time_torch(mode, shape, dtype),
        }


def measure_with(library, policy):
    """The rows of a process with this policy, each printed when it is there: it may not finish."""
    environment = {**os.environ, "TF_RNN_OPS_CUDNN_ALGO": policy}
    command = [sys.executable, __file__, library, "--json"]
    rows = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            rows.append(json.loads(line))
            case, times = rows[-1]["case"], (rows[-1]["core"], rows[-1]["torch"])
            print(f"- {policy} {case}: {times[0]:.0f}, torch {times[1]:.0f}", flush=True)
    if child.returncode != 0:
        print(f"- {policy}: its process ended with {child.returncode}", flush=True)
    return rows


def table(columns):
    """Markdown; `columns` by policy, of which any may end early."""
    lines = [
        "| cell | type | T, B, I, H, L, dropout | torch | "
        + " | ".join(columns)
        + " | torch / best |",
        "|---|---|---|---|" + "---|" * (len(columns) + 1),
    ]
    for rows in itertools.zip_longest(*columns.values()):
        found = [row for row in rows if row is not None]
        mode, name, *shape = found[0]["case"]
        peer = statistics.median(row["torch"] for row in found)
        cells = [mode, name, ", ".join(map(str, shape)), f"{peer:.0f}"]
        cells += ["" if row is None else f"{row['core']:.0f}" for row in rows]
        cells.append(f"{peer / min(row['core'] for row in found):.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--json", action="store_true", help="this process's policy alone")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU: PyTorch sees none")
    if arguments.json:
        for row in measure(arguments.library):
            print(json.dumps(row), flush=True)
        return
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    columns = {policy: measure_with(arguments.library, policy) for policy in POLICIES}
    print(f"\n{table(columns)}")
    sys.exit(any(len(rows) < len(SHAPES) * len(DTYPES) * 2 for rows in columns.values()))


if __name__ == "__main__":
    main()
