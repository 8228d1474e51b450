"""What TensorFlow keeps in registries of its own."""

from tensorflow.python.debug.lib import check_numerics_callback


def leave_out_of_check_numerics(outputs):
    """Makes tf.debugging.enable_check_numerics skip outputs of ops, in the whole process.

    Needs IGNORE_OP_OUTPUTS of TensorFlow's check_numerics_callback (TensorFlow 2.2). Where it is
    missing, nothing happens and the check reports these outputs.

    Args:
        outputs: Pairs of the name of an op and the number of its output.
    """
    known = getattr(check_numerics_callback, "IGNORE_OP_OUTPUTS", None)
    if known is not None:
        pairs = [(name.encode(), number) for name, number in outputs]
        check_numerics_callback.IGNORE_OP_OUTPUTS = (*known, *(p for p in pairs if p not in known))
