"""`python -m tf_rnn_ops`: the commands of the package."""

import argparse
import sys

# WHY literal texts: `--help` of a command may import TensorFlow.
_COMMANDS = {
    "info": "print versions, CPU features and devices, and say why a library is missing",
    "compare": "time a saved Keras model on Keras's layers and on the layers of tf_rnn_ops",
    "export": "write a saved model for another runtime, with a node for each recurrent layer",
    "portable": "replace the CudnnRNN ops of a SavedModel or GraphDef, so that it runs without cuDNN",
}


def main(argv: list[str] | None = None) -> int:
    """Prints the commands and returns 0.

    Args:
        argv: The arguments: nothing or --help. None stands for no arguments.

    Returns:
        The exit status.
    """
    prog = "python -m tf_rnn_ops"
    parser = argparse.ArgumentParser(
        prog=prog,
        description="List the commands of the package.",
        epilog=f"Example: {prog}.compare --help",
    )
    parser.parse_args(argv or [])
    print("Commands; each explains its arguments with --help:")
    for name, what in _COMMANDS.items():
        print(f"  {prog}.{name:<10}{what}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
