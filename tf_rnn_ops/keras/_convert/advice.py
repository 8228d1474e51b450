"""Sentences at the end of several error messages."""

ACCELERATE = "tf_rnn_ops.keras.accelerate() speeds up a model without a copy."
