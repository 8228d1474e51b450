"""OpenVINO: recurrent layers as LSTMSequence, GRUSequence and RNNSequence."""

from tf_rnn_ops.portable.openvino import telemetry

with telemetry.off():  # importing OpenVINO sends an event
    from tf_rnn_ops._formats.openvino.running import load
    from tf_rnn_ops._formats.openvino.writing import write

__all__ = ["load", "write"]
