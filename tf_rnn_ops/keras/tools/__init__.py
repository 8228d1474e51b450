"""Functions on whole Keras models: convert, accelerate, explain, compare, from_onnx."""
