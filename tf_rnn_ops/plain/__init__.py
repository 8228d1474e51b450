"""The networks of the ops in TensorFlow's ordinary ops, which every device has.

The gradients of the gradient ops are taken through them, and tf_rnn_ops.portable writes them into
models that are to need no plug-in. They need no library of ours. Letters as in tf_rnn_ops.raw_ops.

The loops over time are tf.while_loop: call them in a tf.function.
"""

from tf_rnn_ops.plain._block_lstm import block_lstm
from tf_rnn_ops.plain._cudnn_rnn import cudnn_rnn
from tf_rnn_ops.plain._layer_rnn import layer_rnn

__all__ = ["block_lstm", "cudnn_rnn", "layer_rnn"]
