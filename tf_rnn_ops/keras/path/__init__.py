"""Which path a Keras layer takes: our op, and how it is called, or Keras's implementation."""
