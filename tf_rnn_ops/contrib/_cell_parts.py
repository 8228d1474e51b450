"""The object graph that TensorFlow 1.15 gave a layer in a tf.train.Checkpoint.

```
layer --"cell-0"--> cell --"kernel"--> a part of the buffer, as a variable of that shape
      |                 +--"bias"----> another
      +--"cell-1"--> ...
      +--"kernel", "bias": the same objects as in cell-0, if there is only one cell
```

With this graph TensorFlow 1's cells and layers read each other's checkpoints.
"""

import tensorflow as tf

from tf_rnn_ops.contrib import _saveable_base
from tf_rnn_ops.native.tf_internals import checkpoints


class _Part(checkpoints.Part):
    """One tensor of a saveable under the key of a variable.

    Each part is restored separately and does not change the other parts.
    """

    def __init__(self, saveable, index):
        self._saveable = saveable
        self._index = index

    @property
    def initializer(self):
        """The initializer of the whole buffer. It does nothing after a part has been restored."""
        return self._saveable.initializer

    def checkpoint_tensors(self):
        """See checkpoints.Part."""
        return {"VARIABLE_VALUE": self._saveable.to_tensors()[self._index]}

    def restore_checkpoint(self, tensors):
        """See checkpoints.Part."""
        if tf.executing_eagerly() or tf.inside_function():
            return self._replace(tensors)
        # WHY a lock: a session restores the parts in parallel, and each part writes the whole buffer.
        with tf.control_dependencies([self._saveable.initializer, *tensors.values()]):
            mutex = tf.raw_ops.MutexV2(shared_name=f"{self._saveable.name}_mutex")
            lock = tf.raw_ops.MutexLock(mutex=mutex)
        with tf.control_dependencies([lock]):
            replaced = self._replace(tensors)
        with tf.control_dependencies([replaced]):
            return tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)

    def _replace(self, tensors):
        values = self._saveable.to_tensors()
        values[self._index] = tensors["VARIABLE_VALUE"]
        return self._saveable.assign(values)


def children(saveable):
    """The dependencies of a layer whose cells have one kernel and one bias each.

    Args:
        saveable: A CudnnLSTMSaveable, CudnnRNNTanhSaveable or CudnnRNNReluSaveable.

    Returns:
        A dict of names to trackable objects.
    """
    assert isinstance(saveable, _saveable_base.TransformedSaveable)
    count = len(saveable.tensor_names) // 2  # all kernels come first
    cells = {}
    for k in range(count):
        cell = tf.Module()
        cell.bias, cell.kernel = _Part(saveable, count + k), _Part(saveable, k)
        if count == 1:
            cells |= {"kernel": cell.kernel, "bias": cell.bias}
        cells[f"cell-{k}"] = cell
    return cells
