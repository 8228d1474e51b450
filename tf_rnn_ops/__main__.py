"""`python -m tf_rnn_ops COMMAND`: runs a command, or lists the commands."""

import argparse
import importlib
import sys

# WHY literal texts: `--help` of a command may import TensorFlow.
_COMMANDS = {
    "info": "print versions, CPU features, devices and why a library is missing, or the content of a .rnn file",
    "compare": "time a saved Keras model on Keras's layers and on the layers of tf_rnn_ops",
    "export": "write a saved model for another runtime, with a node for each recurrent layer",
    "portable": "replace the CudnnRNN ops of a SavedModel or GraphDef, so that it runs without cuDNN",
}
_PROG = "python -m tf_rnn_ops"


def main(argv: list[str] | None = None) -> int:
    """Runs a command with its arguments; without a command prints the commands.

    Args:
        argv: The arguments: the name of a command and its arguments, nothing, or --help. None for the
            arguments of the process.

    Returns:
        The exit status.
    """
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in _COMMANDS:
        return int(importlib.import_module(f"tf_rnn_ops._commands.{argv[0]}").main(argv[1:]))
    parser = argparse.ArgumentParser(
        prog=_PROG,
        description="Run a command of the package, or list the commands.",
        epilog=f"Example: {_PROG} compare --help",
    )
    names = ", ".join(_COMMANDS)
    parser.add_argument("command", nargs="?", choices=[*_COMMANDS], help=f"one of {names}")
    parser.parse_args(argv)
    print("Commands; each explains its arguments with --help:")
    for name, summary in _COMMANDS.items():
        print(f"  {_PROG} {name:<10}{summary}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
