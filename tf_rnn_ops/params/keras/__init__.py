"""Weights of Keras layers, and the door to private names of Keras objects."""
