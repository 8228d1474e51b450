"""The child of run.py: imports PyTorch, and runs the checks of some sections."""

import argparse
import functools
import os
import pathlib
import sys

import isolation
import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests"))

from checks import block_checks, engine_checks, layer_checks, stack_checks, stream_checks  # noqa: E402
from core import Core  # noqa: E402
from persistent_checks import persistent_checks  # noqa: E402
from sanitizer import sanitized_checks, sanitizer_checks  # noqa: E402
from times import TABLES, block_times, engine_times, layer_times, stack_times  # noqa: E402

# Functions of the core, by section.
MAKERS = {
    "stack": stack_checks,
    "engine": engine_checks,
    "block": block_checks,
    "layers": layer_checks,
    "persistent": persistent_checks,
    "stack-times": stack_times,
    "block-times": block_times,
    "layer-times": layer_times,
    "engine-times": engine_times,
    "sanitized": sanitized_checks,
    "streams": stream_checks,
}


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
    makers = {name: functools.partial(maker, core) for name, maker in MAKERS.items()}
    makers["sanitizer"] = lambda: sanitizer_checks(arguments.library, arguments.pretend)
    name = torch.cuda.get_device_name() if device == "cuda" else "a pretended GPU"
    # Without cuDNN all but the stacks can still be checked, and the error is that of each stack.
    needs_cudnn = {"stack", "stack-times", "engine-times", "streams"} & set(arguments.sections)
    cudnn = f", cuDNN {core.cudnn_version()}" if needs_cudnn else ""
    print(f"device: {name}{cudnn}, PyTorch {torch.__version__}", flush=True)
    for title, unit, columns in TABLES:
        print(f"{isolation.TABLE}{title} ({unit}): | {' | '.join(columns)} |", flush=True)
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
