"""The networks of the ops in TensorFlow's ordinary ops, which run on every device without our libraries.

The gradients of the gradient ops are computed through these networks, and tf_rnn_ops.portable writes them
into models that must not need a plug-in. The letters in shapes are explained in tf_rnn_ops.raw_ops.

The loops over time are tf.while_loop, so call the functions in a tf.function.
"""

from tf_rnn_ops.native import tensorflow_first as _tensorflow_first  # noqa: F401

# isort: split
from tf_rnn_ops._python import lazy as _lazy
from tf_rnn_ops.plain._block_lstm import block_lstm
from tf_rnn_ops.plain._cudnn_rnn import cudnn_rnn
from tf_rnn_ops.plain._layer_rnn import layer_rnn
from tf_rnn_ops.plain._quantized_layer_rnn import quantized_layer_rnn

__all__ = ["block_lstm", "cudnn_rnn", "layer_rnn", "quantized_layer_rnn"]

__getattr__, __dir__ = _lazy.attach(__name__, __all__)
