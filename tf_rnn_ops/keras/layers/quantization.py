"""quantize("int8") of the recurrent layers.

keras.Model.quantize calls `quantize` of the layers that hold no other layers. These are the cells, so `adopt`
gives each cell a `quantize` that quantizes its whole layer.

The class of a cell says which weights it has. `_follow_policies` sets the classes when a layer is made, before it is
built and after it is built, because a DTypePolicyMap tells the policy of a cell by its path:

    dtype policy of the cell    class of the cell       weights that build() makes
    not known yet               in OF_CLASS             those of the policy, which is known then
    without quantization        float_class             float
    int8                        in OF_CLASS             int8 with scales
    int8, without int8 kernel   ValueError
    another quantization        ValueError

WHY not `quantized_build` of the class, as in keras.layers.Dense: most cells are of Keras's own classes, which have no
int8 weights. Keras's constructors or users make them, and convert and accelerate leave them as they are. A layer
cannot make its cell again from the config: the second cell draws other seeds, so that keras.utils.set_random_seed would
give other weights, and dropout has another name for its state. The cell of RNN may be in other layers of the user too.
"""

import functools
from typing import Any, Callable, Iterable

import keras
import numpy as np

from tf_rnn_ops._python import patches
from tf_rnn_ops.keras._internals.layers import remove_variable
from tf_rnn_ops.keras._internals.quantization import autocast, count_as_quantized, unlocked
from tf_rnn_ops.keras.dispatch import activations, cells, changes, decision, quantized
from tf_rnn_ops.keras.dispatch.params import weight_of
from tf_rnn_ops.keras.layers import policies
from tf_rnn_ops.keras.layers.quantized_cells import OF_CLASS

_LARGEST = 127
_OF_KERAS = "build_of_keras"
_DTYPES = ("float32", "bfloat16")


class Quantize:
    """`quantize` of a layer or of one of its cells.

    Attributes:
        layer: The layer.
    """

    def __init__(self, layer: keras.layers.Layer, cell: keras.layers.Layer | None = None) -> None:
        """Remembers the layer, and the cell if it is the method of a cell."""
        self.layer, self._cell = layer, cell

    def __call__(
        self, mode: str | None = None, type_check: bool = True, config: Any = None
    ) -> None:
        """Quantizes the weights; see keras.layers.Layer."""
        # Keras calls the method of each cell. The call of the first cell quantizes all cells.
        is_first = self._cell is None or self._cell is _op_cells(self.layer)[0]
        if is_first or _is_ahead(self._cell):
            quantize(self.layer, mode, config)


def adopt(layer: keras.layers.Layer) -> None:
    """Lets a layer and its cells be quantized, and gives the cells the weights of their policies.

    Args:
        layer: A new layer of this package, or a layer of Keras whose class has become one of this package.

    Raises:
        ValueError: As of _follow_policies.
    """
    patches.put(layer, "quantize", Quantize(layer))
    # WHY not a method: Keras binds `build` when it makes a layer, whose class may be another one later.
    patches.put(layer, "build", _following(layer, layer.build))
    for cell in _op_cells(layer):
        patches.put(cell, "quantize", Quantize(layer, cell))
    _follow_policies(layer)


def _follow_policies(layer: keras.layers.Layer) -> None:
    """Gives the cells of a layer the classes that their dtype policies ask for.

    A cell whose policy is not known yet gets the class with int8 weights, which decides when it is built.

    Args:
        layer: A layer of this package.

    Raises:
        ValueError: A policy asks for weights that a cell does not have, or the policy of the layer has int8
            and that of a cell has not.
    """
    its_cells = _op_cells(layer)
    _check_policies(layer, its_cells)
    for cell in its_cells:
        cls = cells.class_of(cell)
        if cell.quantization_mode is not None or not policies.is_known(cell):
            cls = OF_CLASS.get(cls, cls)
        patches.change_class(cell, cls)
        if cell.built:
            _check_weights(cell)
    for owner in (layer, *its_cells):
        if owner.quantization_mode is not None and policies.is_known(owner):
            count_as_quantized(owner)


def release(layer: keras.layers.Layer) -> None:
    """Undoes adopt() for a layer that became a layer of Keras."""
    for cell in _op_cells(layer):
        patches.change_class(cell, cells.class_of(cell))
    patches.put(layer, "build", getattr(layer.build, _OF_KERAS, layer.build))
    for owner in (layer, *decision.cells_of(layer)):
        if "quantize" in vars(owner):
            patches.remove(owner, "quantize")


def quantize(layer: keras.layers.Layer, mode: str | None = None, config: Any = None) -> None:
    """Quantizes the weights of all cells of a layer to int8, and frees the weights in float.

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
    try:
        _check_quantizable(layer, mode, config)
        # Quantize all cells before one is changed, so that an error leaves the layer as it is.
        new_arrays = [
            (cell, _arrays(layer, cell))
            for cell in decision.cells_of(layer)
            if not cells.is_quantized(cell)
        ]
    except Exception:  # Keras has set the policy before, whatever the error is
        _withdraw_policies(layer)
        raise
    for cell, arrays in new_arrays:
        _renew(cell.kernel)
        _replace(cell, OF_CLASS[type(cell)], policies.int8_policy(cell), arrays)
        # The op gets the variable itself, so that its weights are packed once.
        autocast(cell.bias, False)
    _set_policy(layer, policies.int8_policy(layer))
    quantized.free_kept()


def dequantize(layer: keras.layers.Layer) -> None:
    """Gives a quantized layer float weights again, with the values of the int8 weights."""
    for cell in filter(cells.is_quantized, decision.cells_of(layer)):
        arrays = {name: np.array(weight_of(cell, name)) for name in _matrices(cell)}
        names = [*arrays, *(f"{name}_scale" for name in arrays)]
        _replace(cell, cell.float_class, policies.float_policy(cell), arrays, names)
        autocast(cell.bias, True)
    if layer.quantization_mode is not None:
        _set_policy(layer, policies.float_policy(layer))


def _reason_for_float(cell: keras.layers.Layer) -> str | None:
    """Tells why there are no int8 weights for a cell; None if there are."""
    cls = cells.class_of(cell)
    if cls not in OF_CLASS:
        return f"there is no int8 kernel for a cell of class {cls.__name__}"
    if reason := changes.reason(cell):
        return reason
    if cell.compute_dtype not in _DTYPES:
        return f"the int8 kernels compute in {' or '.join(_DTYPES)}, not in {cell.compute_dtype}"
    for name in ("use_peepholes", "cell_clip", "proj_clip"):
        if getattr(cell, name, False):
            return f"{name}={getattr(cell, name)}, which the int8 kernels lack"
    for argument in ("activation", "recurrent_activation"):
        if hasattr(cell, argument):
            if reason := activations.reason(cell, argument, activations.COMPUTED):
                return reason
    return None


def _quantized_array(weight: Any) -> tuple[np.ndarray, np.ndarray]:
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


def _following(layer: keras.layers.Layer, build: Callable[..., Any]) -> Callable[..., None]:
    """`build` of a layer, after which its cells have the classes that their policies ask for."""

    @functools.wraps(build)
    def build_and_follow(*args: Any, **kwargs: Any) -> None:
        _follow_policies(layer)
        build(*args, **kwargs)
        try:
            _follow_policies(layer)
        except ValueError:
            patches.put(layer, "built", False)
            raise

    setattr(build_and_follow, _OF_KERAS, build)
    return build_and_follow


def _op_cells(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """The cells of a layer that run on an op. The methods of other cells are those of their authors."""
    return [cell for cell in decision.cells_of(layer) if cells.op_name(cell) is not None]


def _is_ahead(cell: keras.layers.Layer) -> bool:
    """Whether a cell has an int8 policy, but float weights."""
    return cell.quantization_mode is not None and not cells.is_quantized(cell)


def _check_policies(layer: keras.layers.Layer, its_cells: list[keras.layers.Layer]) -> None:
    """Raises ValueError if a known policy asks for weights that a cell does not have."""
    reasons = {id(cell): _reason_for_float(cell) for cell in its_cells if policies.is_known(cell)}
    if its_cells:
        policies.check_mode(layer, next(filter(None, reasons.values()), None))
    for cell in its_cells:
        policies.check_mode(cell, reasons.get(id(cell)))
        known = policies.is_known(layer) and policies.is_known(cell)
        if known and layer.quantization_mode is not None and cell.quantization_mode is None:
            raise ValueError(
                f"dtype of the cell {cell.path or cell.name!r} must be a policy with int8, as the dtype of its "
                f"layer {layer.path or layer.name!r}, but it is {policies.name_of(cell)!r}."
            )


def _check_weights(cell: keras.layers.Layer) -> None:
    """Raises ValueError if a cell was built with another policy than it has."""
    has_scales = getattr(cell, "kernel_scale", None) is not None
    if has_scales != cells.is_quantized(cell):
        raise ValueError(
            f"dtype of the cell {cell.name!r} must fit its weights, which are "
            f"{'int8' if has_scales else 'float'}, but it is {policies.name_of(cell)!r}."
        )


def _check_quantizable(layer: keras.layers.Layer, mode: str | None, config: Any) -> None:
    """Raises the errors of quantize()."""
    reason = _mode_reason(mode or getattr(config, "mode", None)) or _config_reason(config)
    if reason is not None:
        raise NotImplementedError(f"The layer {layer.name!r} cannot be quantized: {reason}.")
    its_cells = decision.cells_of(layer)
    if not layer.built:
        raise ValueError(f"The layer {layer.name!r} must be built before quantize() is called.")
    if layer.quantization_mode is not None and all(map(cells.is_quantized, its_cells)):
        raise ValueError(
            f"The layer {layer.name!r} is already quantized: its dtype policy is "
            f"{policies.name_of(layer)!r}."
        )
    reason = next(filter(None, map(_reason_for_float, its_cells)), None)
    if reason is not None:
        raise NotImplementedError(
            f"The layer {layer.name!r} cannot be quantized to int8: {reason}."
        )


def _withdraw_policies(layer: keras.layers.Layer) -> None:
    """Gives float policies to a layer and cells with float weights, because Keras sets the policy first."""
    its_cells = _op_cells(layer)
    for owner in (layer, *its_cells):
        has_float = not any(map(cells.is_quantized, its_cells if owner is layer else [owner]))
        if owner.quantization_mode is not None and has_float:
            _set_policy(owner, policies.float_policy(owner))


def _mode_reason(mode: str | None) -> str | None:
    if mode == "int8":
        return None
    return f"recurrent layers have the mode 'int8', but mode is {mode!r}"


def _config_reason(config: Any) -> str | None:
    default = getattr(keras.quantizers, "AbsMaxQuantizer", None)
    is_usual = getattr(config, "weight_quantizer", None) is None
    if config is None or (is_usual and type(config.activation_quantizer) is default):
        return None
    return "recurrent layers have only the default quantizers of Int8QuantizationConfig"


def _matrices(cell: keras.layers.Layer) -> list[str]:
    return [name for name in cells.MATRICES if getattr(cell, name, None) is not None]


def _arrays(layer: keras.layers.Layer, cell: keras.layers.Layer) -> dict[str, np.ndarray]:
    """{name of a weight: its quantized array or its scale}."""
    arrays = {}
    for name in _matrices(cell):
        weight = np.asarray(keras.ops.convert_to_numpy(getattr(cell, name)), np.float32)
        if not np.all(np.isfinite(weight)):
            raise ValueError(
                f"{name} of the layer {layer.name!r} must be finite to be quantized, but it has NaN or "
                "infinity."
            )
        arrays[name], arrays[f"{name}_scale"] = _quantized_array(weight)
    return arrays


def _renew(variable: keras.Variable) -> None:
    """Gives a variable a copy of its value, so that no packed weights are kept for it.

    An optimizer or a traced function may still hold the variable when its cell has another one.
    """
    variable.assign(keras.ops.convert_to_numpy(variable))


def _replace(
    cell: keras.layers.Layer,
    cls: type,
    policy: keras.DTypePolicy,
    arrays: dict[str, Any],
    old: Iterable[str] = cells.MATRICES,
) -> None:
    """Changes the class and the policy of a cell, and replaces its matrices by those of the new class."""
    shapes = {name: getattr(cell, name).shape for name in _matrices(cell)}
    for name in (name for name in old if getattr(cell, name, None) is not None):
        remove_variable(cell, name)
    patches.change_class(cell, cls)
    _set_policy(cell, policy)
    with unlocked(cell):
        for name, shape in shapes.items():
            weight = cell.add_weight(shape=shape, name=name, initializer="zeros")
            patches.put(cell, name, weight)
    for name, array in arrays.items():
        getattr(cell, name).assign(array)


def _set_policy(layer: keras.layers.Layer, policy: keras.DTypePolicy) -> None:
    count_as_quantized(layer, policy.quantization_mode is not None)
    patches.put(layer, "dtype_policy", policy)
