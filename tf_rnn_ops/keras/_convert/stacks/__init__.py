"""Replaces stacks by layers of Keras."""
