"""Sentences that several errors end with."""

ACCELERATE = "tf_rnn_ops.keras.accelerate() speeds up a model without a copy."
