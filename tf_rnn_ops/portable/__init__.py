"""Rewrites models that need cuDNN, so that they need only our ops or no plug-in.

    python -m tf_rnn_ops portable SOURCE TARGET [--to tensorflow|tf_rnn_ops]

tf_rnn_ops.enable_stock_ops() runs such models without a change of the graph.
"""

from tf_rnn_ops import _lazy
from tf_rnn_ops.portable._check import check_graph_def, check_saved_model
from tf_rnn_ops.portable._report import Change, Comparison, Kept, Report
from tf_rnn_ops.portable._rewrite import rewrite_graph_def
from tf_rnn_ops.portable._saved_model import rewrite_saved_model

__all__ = [
    "Change",
    "Comparison",
    "Kept",
    "Report",
    "check_graph_def",
    "check_saved_model",
    "rewrite_graph_def",
    "rewrite_saved_model",
]

__getattr__, __dir__ = _lazy.attach(__name__, __all__)
