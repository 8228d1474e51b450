"""TensorFlow's warnings on ops that tf.vectorized_map runs in a loop."""

import contextlib
import logging

import tensorflow as tf


@contextlib.contextmanager
def warned():
    """Gives the list of the lines that TensorFlow logs in the block."""
    found, logger = [], tf.get_logger()
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())
    handler.addFilter(lambda record: "while_loop" in record.getMessage())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    try:
        yield found
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
