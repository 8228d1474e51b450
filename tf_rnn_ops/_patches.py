"""The door for attributes that this package changes on objects, classes and modules that it has not made.

LISTED has all of them. Each function changes such attributes only. tests/package/doors/test_patches.py finds assignments
outside of this module.
"""

import functools
import inspect
from typing import Any, Callable, NamedTuple


class Patch(NamedTuple):
    """Attributes that one module of this package changes.

    Attributes:
        module: The module, from the folder tf_rnn_ops.
        owner: The object, class or module with the attributes.
        names: Their names.
        why: The purpose of the change.
    """

    module: str
    owner: str
    names: tuple[str, ...]
    why: str


_FROM_IMPORT = (
    Patch(
        "keras/_patched/bidirectional.py",
        "keras.layers.Bidirectional",
        ("__init__", "_can_attempt_fused_lstm", "_can_attempt_fused_gru"),
        "calls the layers of this package one by one, and rejects stacks with time first",
    ),
    Patch(
        "keras/_patched/pickling.py",
        "the class that defines __reduce__ of keras.Model",
        ("__reduce__",),
        "lets a pickle import this package",
    ),
    Patch(
        "keras/_patched/quantize.py",
        "keras.Model",
        ("quantize",),
        "shows filters the layer of a cell, and frees float weights",
    ),
    Patch(
        "export/hook.py",
        "the loader of tf2onnx.tfonnx",
        ("exec_module",),
        "registers our ops when tf2onnx is imported",
    ),
    Patch(
        "export/onnx/registration.py",
        "tf2onnx.tfonnx",
        ("graphs_from_tf",),
        "lets every function of tf2onnx write our ops",
    ),
    Patch(
        "native/tf_internals/registries.py",
        "tensorflow.python.debug.lib.check_numerics_callback",
        ("IGNORE_OP_OUTPUTS",),
        "leaves reserve spaces out of tf.debugging.enable_check_numerics",
    ),
)
_FOR_A_TIME = (
    Patch(
        "keras/_convert/accelerate.py",
        "keras.layers.LSTM, GRU, SimpleRNN and RNN",
        ("inner_loop", "supports_jit"),
        "runs the layers of Keras on the op, from accelerate() to restore()",
    ),
    Patch(
        "keras/_convert/layer_calls.py",
        "keras.layers.Layer",
        ("__call__",),
        "shows export() the calls of layers in a model of any class, while export() traces it",
    ),
    Patch(
        "export/onnx/writing.py",
        "the logger of tf2onnx",
        ("propagate",),
        "collects the errors of tf2onnx, while it writes a model",
    ),
)
_OF_LAYERS = (
    Patch(
        "keras/_convert/copying.py",
        "a layer of Keras that the class of a user makes in its constructor",
        ("__class__",),
        "gives the copy of a model layers of this package; the given model does not change",
    ),
    Patch(
        "keras/_convert/copying.py",
        "the copy of a model of a user's class without build()",
        ("built",),
        "counts the copy as built when its layers are, as Keras does in the first call",
    ),
    Patch(
        "keras/layers/quantization.py",
        "a layer of this package and its cells, which are of Keras",
        ("quantize", "build", "built", "dtype_policy", "__class__"),
        "Keras quantizes cells, each alone, but a layer quantizes all of its cells, to classes with int8 weights",
    ),
    Patch(
        "keras/layers/quantization.py",
        "a cell of a layer of this package",
        (
            *("kernel", "recurrent_kernel", "projection"),
            *("kernel_scale", "recurrent_kernel_scale", "projection_scale"),
        ),
        "quantize() replaces float weights by int8 weights with scales, and dequantize() the other way",
    ),
    Patch(
        "keras/layers/policies.py",
        "a layer of this package",
        ("dtype_policy",),
        "gives it a float policy again if it cannot be quantized",
    ),
    Patch(
        "keras/_patched/quantize.py",
        "a model that is quantized",
        ("train_function", "test_function", "predict_function"),
        "frees float weights that a traced function reads; Keras sets these to None too",
    ),
    Patch(
        "keras/layers/op_layer.py",
        "a layer with supports_jit of this package",
        ("_jit_forbidden",),
        "remembers that a user has set supports_jit=False",
    ),
    Patch(
        "keras/_internals/quantization.py",
        "a layer of this package, its cells and their biases",
        ("_is_quantized", "_autocast"),
        "lets the policy become an int8 policy, and the op get the variable itself",
    ),
    Patch(
        "keras/_internals/layers.py",
        "a cell of a layer of this package",
        ("kernel", "recurrent_kernel", "projection"),
        "deletes float weights without a garbage collection for each",
    ),
    Patch(
        "keras/_internals/models.py",
        "the copy of a model",
        ("_called",),
        "lets Keras export a copy that has not been called",
    ),
)
LISTED = (*_FROM_IMPORT, *_FOR_A_TIME, *_OF_LAYERS)
"""A Patch for each module and owner: first those from the import of this package on, then those for a time."""

_NAMES = {name for patch in LISTED for name in patch.names}
_MARK = "_wrapped_by_tf_rnn_ops"


def put(owner: Any, name: str, value: Any) -> None:
    """Sets an attribute that LISTED names."""
    _check(name)
    setattr(owner, name, value)


def remove(owner: Any, name: str, above: Any = object) -> None:
    """Deletes an attribute that LISTED names; with `above` by the method of the class after it in the MRO."""
    _check(name)
    if above is object:
        delattr(owner, name)
    else:
        super(above, owner).__delattr__(name)


def change_class(thing: Any, cls: type) -> None:
    """Changes the class of an object."""
    # WHY not setattr: Keras tracks values of attributes.
    object.__setattr__(thing, "__class__", cls)


def wrap(owner: Any, name: str, around: Callable[[Callable], Callable]) -> None:
    """Replaces a function of a class or module by another one, once for the whole process.

    Args:
        owner: The class or module.
        name: The name of the function, which LISTED names.
        around: A function of the present function that returns the new one.
    """
    _check(name)
    original = getattr(owner, name)
    if hasattr(original, _MARK):
        return
    ours = functools.wraps(original)(around(original))
    # Keras reads the signatures of constructors without following __wrapped__.
    vars(ours).update({"__signature__": inspect.signature(original), _MARK: True})
    put(owner, name, ours)


def _check(name):
    if name not in _NAMES:
        raise KeyError(f"{name!r} is not an attribute in LISTED of {__name__}")
