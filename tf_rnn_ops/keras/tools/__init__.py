"""Functions for whole Keras models: convert, accelerate, explain, compare, export, from_onnx."""
