"""The changes of Keras's own classes that the import of tf_rnn_ops.keras makes."""
