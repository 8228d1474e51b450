"""The ops in OpenVINO's converter of TensorFlow models: LSTMSequence, GRUSequence and RNNSequence."""
