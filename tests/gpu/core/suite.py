"""The child of run.py: imports PyTorch, and runs the checks of some sections."""

import argparse
import os
import sys

import isolation
import torch
from block_lstm_checks import BlockLstm, block_checks, block_times
from checks import stack_checks, stream_checks
from choices import choice_checks
from core import Core
from engine_checks import engine_checks
from layer_checks import Layer, layer_checks, layer_times
from matrix import matrix_checks
from persistent_checks import persistent_checks
from persistent_times import persistent_times
from sanitizer import sanitized_checks, sanitizer_checks
from sweep import sweep_checks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="the library of the core")
    parser.add_argument("--pretend", action="store_true", help="run on the mock GPU")
    parser.add_argument("--sections", nargs="+", help="the sections to run, in order")
    parser.add_argument(
        "--first",
        type=int,
        default=0,
        help="the number of the first check; earlier checks are skipped (default: %(default)s)",
    )
    arguments = parser.parse_args()
    # So that a kernel is compiled as on a machine that sees it for the first time.
    os.environ.setdefault("CUDA_CACHE_DISABLE", "1")
    if not arguments.pretend and not torch.cuda.is_available():
        sys.exit("no GPU: PyTorch sees none")
    device = "cpu" if arguments.pretend else "cuda"
    if device == "cuda":
        # Makes the context and loads PyTorch's cuDNN and cuBLAS, which the core then takes.
        torch.nn.LSTM(2, 2, device=device)(torch.zeros(1, 1, 2, device=device))
        torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)
    core = Core(arguments.library, device)
    block = BlockLstm(arguments.library, device)
    layer = Layer(arguments.library, device)
    makers = {
        "stack": lambda: stack_checks(core),
        "engine": lambda: engine_checks(core),
        "block": lambda: block_checks(block),
        "matrix": lambda: matrix_checks(core),
        "block-times": lambda: block_times(block),
        "layers": lambda: layer_checks(layer),
        "layer-times": lambda: layer_times(layer),
        "persistent": lambda: persistent_checks(layer),
        "persistent-times": lambda: persistent_times(layer),
        "sanitizer": lambda: sanitizer_checks(arguments.library, arguments.pretend),
        "sanitized": lambda: sanitized_checks(layer),
        "sweep": lambda: sweep_checks(core),
        "choices": lambda: choice_checks(core),
        "streams": lambda: stream_checks(core),
    }
    name = torch.cuda.get_device_name() if device == "cuda" else "a pretended GPU"
    # Without cuDNN all but the stacks can still be checked, and the error is that of each stack.
    needs_cudnn = any(
        section in ("stack", "matrix", "sweep", "choices", "streams")
        for section in arguments.sections
    )
    cudnn = f", cuDNN {core.cudnn_version()}" if needs_cudnn else ""
    print(f"device: {name}{cudnn}, PyTorch {torch.__version__}", flush=True)
    checks = (check for section in arguments.sections for check in makers[section]())
    isolation.run(checks, arguments.first, lambda: _answers(device))


def _answers(device):
    if device != "cuda":
        return True
    try:
        torch.cuda.synchronize()
        return True
    except RuntimeError:
        return False


if __name__ == "__main__":
    main()
