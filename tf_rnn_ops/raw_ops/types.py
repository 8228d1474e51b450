"""Types in public signatures, for type checkers only. TensorFlow need not be installed."""

from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    import tensorflow as tf
    from numpy.typing import ArrayLike

    # A tensor, a variable, an array, a number, or a list of numbers.
    TensorLike = Union[tf.Tensor, tf.Variable, ArrayLike]
