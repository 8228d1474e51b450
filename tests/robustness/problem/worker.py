"""Child process: checks the problems of a file through the Python ops.

Usage: python -m robustness.problem.worker FILE THREADS LAWS FIRST. THREADS of 0 leaves TensorFlow its own
number; LAWS is "all", or "one" for one law for each problem; FIRST is the line to begin with. The
environment chooses the instruction set.
"""

import os
import pathlib
import sys

# The references multiply small matrices; threads that spin only take the cores from the ops.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from support import subproc  # noqa: E402


def main():
    file, threads, laws_of_each, first = sys.argv[1], *sys.argv[2:5]
    import tensorflow as tf

    if int(threads):
        tf.config.threading.set_intra_op_parallelism_threads(int(threads))
    import tf_rnn_ops
    from robustness.problem import check, grammar, laws

    wanted = os.environ.get("TF_RNN_OPS_CPU_ISA")
    if wanted and tf_rnn_ops.cpu_isa() != wanted:
        raise SystemExit(f"this machine has no {wanted}, only {tf_rnn_ops.cpu_isa()}")
    problems = grammar.read(pathlib.Path(file).read_text())
    for k, problem in enumerate(problems[int(first) :], int(first)):
        subproc.emit({"start": k, "label": str(problem)})
        outcome = {"label": str(problem), "failed": "", "decided": True}
        try:
            case, got, expected = check.check(problem)
            outcome["decided"] = expected.decided
            only = None if laws_of_each == "all" else problem.seed
            laws.check(problem, case, got, expected.decided, only)
        except (AssertionError, tf.errors.OpError, ValueError) as error:
            outcome["failed"] = f"{type(error).__name__}: {error}"
        subproc.emit({"outcome": outcome})
    subproc.emit({"end": True})


if __name__ == "__main__":
    main()
