"""Benchmarks of tf_rnn_ops and other libraries. Start with `python -m benchmarks.run --help`."""
