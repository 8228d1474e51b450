"""The changes of Keras's own classes that the import of tf_rnn_ops.keras makes."""

from tf_rnn_ops.keras._patched import bidirectional, pickling, quantize


def install() -> None:
    """Makes the changes. Later calls have no effect."""
    bidirectional.guard()
    pickling.guard()
    quantize.guard()
