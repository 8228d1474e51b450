"""quantize("int8") of the recurrent layers.

keras.Model.quantize calls `quantize` of the layers that hold no other layers, so of the cells. `adopt` lets
the cells of a layer pass the call on to their layer, which quantizes all of its cells.
"""

import keras
import numpy as np

from tf_rnn_ops.keras._internals.quantization import count_as_quantized, unlocked
from tf_rnn_ops.keras.layers.quantized_cells import OF_CLASS
from tf_rnn_ops.keras.path import activations, cells, eligibility
from tf_rnn_ops.keras.path.params import weight_of

_LARGEST = 127
_DTYPES = ("float32", "bfloat16")


class Quantize:
    """`quantize` of a layer or of one of its cells.

    Attributes:
        layer: The layer.
    """

    def __init__(self, layer, is_first=True):
        """Remembers the layer. Only the first cell of a layer passes a call on."""
        self.layer, self._is_first = layer, is_first

    def __call__(self, mode=None, type_check=True, config=None):
        """Quantizes the weights; see keras.layers.Layer."""
        if self._is_first:
            quantize(self.layer, mode, config)


def adopt(layer):
    """Lets a layer and its cells be quantized. Cells with an int8 policy get int8 weights when they are built.

    Args:
        layer: A new layer of this package, or one that became it by a change of its class.
    """
    its_cells = [cell for cell in eligibility.cells_of(layer) if cells.op_name(cell) is not None]
    layer.quantize = Quantize(layer)
    for k, cell in enumerate(its_cells):
        cell.quantize = Quantize(layer, is_first=k == 0)
        if cell.quantization_mode is not None and not cells.is_quantized(cell):
            _set_class(cell, OF_CLASS.get(type(cell), type(cell)))
    for one in (layer, *its_cells):
        if one.quantization_mode is not None:
            count_as_quantized(one)


def release(layer):
    """Undoes adopt() for a layer that became a layer of Keras."""
    for one in (layer, *eligibility.cells_of(layer)):
        vars(one).pop("quantize", None)


def quantize(layer, mode=None, config=None):
    """Quantizes the weights of all cells of a layer to int8.

    Args:
        layer: A built layer of this package.
        mode: 'int8'. None stands for the mode of `config`.
        config: The keras.quantizers.QuantizationConfig that Keras makes of the mode, or None.

    Raises:
        ValueError: The layer is not built or already quantized, or a weight is NaN or infinite.
        NotImplementedError: There is no int8 kernel for the mode, the config or the layer. Keras shows it
            as a warning and quantizes the other layers.
    """
    if isinstance(config, str):
        mode, config = config, None
    reason = _mode_reason(mode or getattr(config, "mode", None)) or _config_reason(config)
    if reason is not None:
        raise NotImplementedError(f"The layer {layer.name!r} cannot be quantized: {reason}.")
    its_cells = eligibility.cells_of(layer)
    if not layer.built:
        raise ValueError(f"The layer {layer.name!r} must be built before quantize() is called.")
    if layer.quantization_mode is not None and all(map(cells.is_quantized, its_cells)):
        raise ValueError(
            f"The layer {layer.name!r} is already quantized: its dtype policy is "
            f"{layer.dtype_policy.name!r}."
        )
    reason = next(filter(None, map(reason_against, its_cells)), None)
    if reason is not None:
        raise NotImplementedError(
            f"The layer {layer.name!r} cannot be quantized to int8: {reason}."
        )
    # All of them first: an error leaves the layer as it is.
    found = [(cell, _arrays(layer, cell)) for cell in its_cells if not cells.is_quantized(cell)]
    for cell, arrays in found:
        _replace(cell, OF_CLASS[type(cell)], _int8_policy(cell), arrays)
    _set_policy(layer, _int8_policy(layer))


def dequantize(layer):
    """Gives a quantized layer float weights again, with the values of the int8 weights."""
    for cell in filter(cells.is_quantized, eligibility.cells_of(layer)):
        arrays = {name: np.array(weight_of(cell, name)) for name in _matrices(cell)}
        names = [*arrays, *(f"{name}_scale" for name in arrays)]
        _replace(cell, cell.float_class, _float_policy(cell), arrays, names)
    if layer.quantization_mode is not None:
        _set_policy(layer, _float_policy(layer))


def reason_against(cell):
    """Tells why there are no int8 weights for a cell; None if there are."""
    cls = cells.class_of(cell)
    if cls not in OF_CLASS:
        return f"there is no int8 kernel for a cell of class {cls.__name__}"
    if cell.compute_dtype not in _DTYPES:
        return f"the int8 kernels compute in {' or '.join(_DTYPES)}, not in {cell.compute_dtype}"
    for name in ("use_peepholes", "cell_clip", "proj_clip"):
        if getattr(cell, name, False):
            return f"{name}={getattr(cell, name)}, which the int8 kernels lack"
    for argument in ("activation", "recurrent_activation"):
        if hasattr(cell, argument):
            found = activations.reason(cell, argument, activations.COMPUTED)
            if found is not None:
                return found
    return None


def quantized_array(weight):
    """Quantizes the columns of a matrix.

    Args:
        weight: An array [n, m] of finite numbers.

    Returns:
        An int8 array [n, m] and the scales, float32 [m]: each column is the array times its scale. A
        column of zeros has the scale 1.
    """
    weight = np.asarray(weight, np.float32)
    scale = np.max(np.abs(weight), axis=0, initial=0) / np.float32(_LARGEST)
    scale[scale == 0] = 1
    values = np.clip(np.rint(weight / scale), -_LARGEST, _LARGEST)
    return values.astype(np.int8), scale


def _mode_reason(mode):
    if mode == "int8":
        return None
    return f"recurrent layers have the mode 'int8', but mode is {mode!r}"


def _config_reason(config):
    default = getattr(keras.quantizers, "AbsMaxQuantizer", None)
    own = getattr(config, "weight_quantizer", None) is None
    if config is None or (own and type(config.activation_quantizer) is default):
        return None
    return "recurrent layers have only the default quantizers of Int8QuantizationConfig"


def _matrices(cell):
    return [name for name in cells.MATRICES if getattr(cell, name, None) is not None]


def _arrays(layer, cell):
    """{name of a weight: its quantized array or its scale}."""
    found = {}
    for name in _matrices(cell):
        weight = np.asarray(keras.ops.convert_to_numpy(getattr(cell, name)), np.float32)
        if not np.all(np.isfinite(weight)):
            raise ValueError(
                f"{name} of the layer {layer.name!r} must be finite to be quantized, but it has NaN or "
                "infinity."
            )
        found[name], found[f"{name}_scale"] = quantized_array(weight)
    return found


def _replace(cell, cls, policy, arrays, old=cells.MATRICES):
    """Gives a cell other matrices, as a cell of another class with another policy has them."""
    shapes = {name: getattr(cell, name).shape for name in _matrices(cell)}
    for name in (name for name in old if getattr(cell, name, None) is not None):
        delattr(cell, name)
    _set_class(cell, cls)
    _set_policy(cell, policy)
    with unlocked(cell):
        for name, shape in shapes.items():
            setattr(cell, name, cell.add_weight(shape=shape, name=name, initializer="zeros"))
    for name, array in arrays.items():
        getattr(cell, name).assign(array)


def _set_class(cell, cls):
    # WHY not Keras's __setattr__: it tracks values of attributes.
    object.__setattr__(cell, "__class__", cls)


def _int8_policy(layer):
    if layer.quantization_mode is not None:
        return layer.dtype_policy
    return keras.dtype_policies.get(f"int8_from_{layer.dtype_policy.name}")


def _float_policy(layer):
    return keras.dtype_policies.get(layer.dtype_policy.get_config()["source_name"])


def _set_policy(layer, policy):
    count_as_quantized(layer, policy.quantization_mode is not None)
    layer.dtype_policy = policy
