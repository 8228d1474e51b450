"""Copies of a model on other layers: convert, accelerate, from_onnx."""
