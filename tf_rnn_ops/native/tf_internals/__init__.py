"""The one door to private names of TensorFlow. Each function says what it needs and since when."""
