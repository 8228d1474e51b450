"""Weights of ONNX nodes."""
