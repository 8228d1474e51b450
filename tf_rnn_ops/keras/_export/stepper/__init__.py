"""Steppers of Keras models, and their files."""
