"""Decides whether a Keras layer runs on our op or on Keras's implementation, and calls the op."""
