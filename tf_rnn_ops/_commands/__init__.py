"""The commands of `python -m tf_rnn_ops`: a module with a function main(argv) for each."""
