"""The command line that the programs of checks share."""

import argparse
import sys

import isolation
import torch


def parser(description):
    """Of LIBRARY [--pretend], for a program to add its own arguments to."""
    result = argparse.ArgumentParser(description=description)
    result.add_argument("library")
    result.add_argument("--pretend", action="store_true")
    result.add_argument("--first", type=int, help=argparse.SUPPRESS)
    return result


def start(arguments, isolated=True):
    """Goes on where there is a GPU or none is needed; if `isolated`, in a child process alone.

    Returns:
        The device of the tensors, its name, and whether it still answers, as a function.
    """
    if not arguments.pretend and not torch.cuda.is_available():
        sys.exit("no GPU: PyTorch sees none")
    if isolated and arguments.first is None:
        sys.exit(isolation.supervise([sys.executable, *sys.argv]))
    if arguments.pretend:
        return "cpu", "a pretended GPU", lambda: True
    return "cuda", torch.cuda.get_device_name(), _answers


def _answers():
    try:
        torch.cuda.synchronize()
        return True
    except RuntimeError:
        return False
