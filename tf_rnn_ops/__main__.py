"""`python -m tf_rnn_ops`: the commands of the package."""

import argparse
import sys

# WHY literal texts: `--help` of a command may import TensorFlow.
_COMMANDS = {
    "info": "what this installation has, and why something is missing",
    "compare": "times a saved Keras model on Keras's layers and on those of tf_rnn_ops",
    "export": "writes a saved model for another runtime, with a node for each recurrent layer",
    "portable": "rewrites a SavedModel or graph with CudnnRNN ops for machines without cuDNN",
}


def main(argv: list[str] | None = None) -> int:
    """Prints the commands and returns 0.

    Args:
        argv: The arguments, of which only --help is known; None for none.

    Returns:
        The exit status.
    """
    prog = "python -m tf_rnn_ops"
    parser = argparse.ArgumentParser(prog=prog, description="List the commands of the package.")
    parser.parse_args(argv or [])
    print("Commands; each explains its arguments with --help:")
    for name, what in _COMMANDS.items():
        print(f"  {prog}.{name:<10}{what}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
