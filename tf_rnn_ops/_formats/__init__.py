"""Writes models for other runtimes, with one node of the runtime for each recurrent layer.

    python -m tf_rnn_ops export MODEL FILE [--format onnx]

tf_rnn_ops.keras.export writes a Keras model and returns a report.
"""
