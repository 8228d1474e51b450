"""Chains of recurrent layers of Keras, stacks, and what replaces one by the other."""
