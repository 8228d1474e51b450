"""The results of two models on given or made-up batches, and their differences."""

# Pickles of reports name it here.
from tf_rnn_ops._comparison.differences import Comparison  # noqa: F401
