"""Rewrites models that need cuDNN or this package, so that they need no plug-in.

    python -m tf_rnn_ops portable SOURCE TARGET

tf_rnn_ops.enable_stock_ops() runs such models without a change of the graph.
"""

from tf_rnn_ops.native import tensorflow_first as _tensorflow_first  # noqa: F401

# isort: split
from tf_rnn_ops._comparison.differences import Comparison
from tf_rnn_ops._python import lazy as _lazy
from tf_rnn_ops.portable._openvino_extensions import openvino_extensions
from tf_rnn_ops.portable._report import Report
from tf_rnn_ops.portable._rewrite import rewrite_graph_def
from tf_rnn_ops.portable._saved_model import rewrite_saved_model
from tf_rnn_ops.portable._verify import verify_graph_def, verify_saved_model

__all__ = [
    "Comparison",
    "Report",
    "openvino_extensions",
    "rewrite_graph_def",
    "rewrite_saved_model",
    "verify_graph_def",
    "verify_saved_model",
]

__getattr__, __dir__ = _lazy.attach(__name__, __all__)
