"""Conversion from and to state dicts of PyTorch's LSTM, GRU and RNN modules, without importing torch."""

import re
from typing import Any, Mapping, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tf_rnn_ops.params._classes import TORCH, overridden_method
from tf_rnn_ops.params.cells import (
    Cell,
    Converted,
    as_array,
    check_shape,
    converted,
    gate_count,
    mode_of,
    not_a_source,
    to_cells,
)
from tf_rnn_ops.params.layout import Layout

_NAME = re.compile(r"(weight_ih|weight_hh|weight_hr|bias_ih|bias_hh)_l(\d+)(_reverse)?")
# The tensors from which a weight is computed: of torch.nn.utils.parametrize, of older weight_norm and spectral_norm.
_COMPUTED = re.compile(
    rf"parametrizations\.(?P<new>{_NAME.pattern})\..*|(?P<old>{_NAME.pattern})_(?P<end>g|v|orig)"
)


def from_torch(source: Any, rnn_mode: str | None = None, prefix: str = "") -> Converted:
    """Makes the buffer of CudnnRNNV3 from a torch.nn.LSTM, GRU or RNN.

    The conversion is exact to the bit; bfloat16 becomes float32. PyTorch and the op have the same gates in
    the same order.

    Args:
        source: The module, a module that contains it, or a mapping of names ('weight_ih_l0', ...) to
            tensors or arrays, such as the result of state_dict(). Names of other modules are ignored.
        rnn_mode: 'rnn_tanh' or 'rnn_relu', needed for the state dict of a torch.nn.RNN, which lacks the
            nonlinearity. Otherwise None: the mode follows from `source`.
        prefix: Prefix of the names, such as 'encoder.lstm.'.

    Returns:
        A Converted: the layout (with num_proj for proj_size) and the buffer.

    Raises:
        TypeError: `source` is neither a module nor a mapping.
        ValueError: A tensor is missing, has the wrong shape or type, or an unknown name; or the module
            overrides forward(), has forward hooks, or computes a weight in each call, as weight_norm does.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> converted = params.from_torch({
        ...     "rnn.weight_ih_l0": np.ones([9, 2]), "rnn.weight_hh_l0": np.ones([9, 3]),
        ...     "rnn.bias_ih_l0": np.zeros(9), "rnn.bias_hh_l0": np.zeros(9)}, prefix="rnn.")
        >>> converted.layout.rnn_mode, converted.params.shape
        ('gru', (63,))
    """
    module = source if hasattr(source, "state_dict") else None
    state_dict = source if module is None else module.state_dict()
    if not hasattr(state_dict, "items"):
        raise not_a_source(source, "a module of PyTorch or its state_dict")
    _check_not_computed(state_dict, prefix)
    if module is not None:
        rnn_mode = _mode_of_module(module, prefix, rnn_mode)
    tensors = _Tensors(prefix, _select(state_dict, prefix))
    sizes = _sizes_of(tensors, rnn_mode)
    cells = [
        _cell(tensors, sizes, layer, suffix)
        for layer in range(sizes.num_layers)
        for suffix in sizes.suffixes
    ]
    return converted(sizes.rnn_mode, cells, len(sizes.suffixes))


class _Tensors(NamedTuple):
    """The tensors of a module by their names without the prefix."""

    prefix: str
    by_name: dict[str, Any]

    def get(self, name: str, rank: int) -> np.ndarray:
        """A tensor as an array.

        Raises:
            ValueError: There is no such tensor, or it has another number of dimensions.
        """
        if name not in self.by_name:
            raise ValueError(
                f"state_dict has no {self.prefix}{name}, which belongs to the other tensors."
            )
        return as_array(f"{self.prefix}{name}", self.by_name[name], rank)


class _Sizes(NamedTuple):
    """The sizes of a module.

    Attributes:
        rnn_mode: The mode of the op.
        num_layers: The number of layers.
        suffixes: The end of the names of each direction.
        gates: The number of gates.
        units: The number of units.
        hidden: The size of h: that of the projection, or the number of units.
        input_size: The size of the input.
        has_bias: Whether there are biases.
        has_projection: Whether there are projections.
    """

    rnn_mode: str
    num_layers: int
    suffixes: tuple[str, ...]
    gates: int
    units: int
    hidden: int
    input_size: int
    has_bias: bool
    has_projection: bool

    def shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """{kind of a weight: its shape in a layer}."""
        rows = self.gates * self.units
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, len(self.suffixes) * self.hidden if layer else self.input_size),
            "weight_hh": (rows, self.hidden),
        }
        if self.has_projection:
            shapes["weight_hr"] = (self.hidden, self.units)
        if self.has_bias:
            shapes.update(bias_ih=(rows,), bias_hh=(rows,))
        return shapes


def _sizes_of(tensors: _Tensors, rnn_mode: str | None) -> _Sizes:
    """The sizes of a module with these tensors, from their names and the first layer."""
    prefix = tensors.prefix
    parts = [match.groups() for match in map(_NAME.fullmatch, tensors.by_name) if match]
    kinds, layers, reversed_ = map(set, zip(*parts))
    projects = "weight_hr" in kinds
    recurrent = tensors.get("weight_hh_l0", rank=2)
    hidden = recurrent.shape[1]
    units = tensors.get("weight_hr_l0", rank=2).shape[1] if projects else hidden
    gates = gate_count(f"{prefix}weight_hh_l0", recurrent.shape[0], units)
    mode = mode_of(gates, rnn_mode, f"{prefix}weight_hh_l0")
    if projects and mode != "lstm":
        raise ValueError(f"{prefix}weight_hr_l0 must belong to an LSTM, but the others to {mode}.")
    return _Sizes(
        rnn_mode=mode,
        num_layers=1 + max(map(int, layers)),
        suffixes=("", "_reverse") if "_reverse" in reversed_ else ("",),
        gates=gates,
        units=units,
        hidden=hidden,
        input_size=tensors.get("weight_ih_l0", rank=2).shape[1],
        has_bias=not kinds.isdisjoint({"bias_ih", "bias_hh"}),
        has_projection=projects,
    )


def _cell(tensors: _Tensors, sizes: _Sizes, layer: int, suffix: str) -> Cell:
    where = f"_l{layer}{suffix}"
    read = {
        kind: check_shape(
            f"{tensors.prefix}{kind}{where}", tensors.get(f"{kind}{where}", len(shape)), shape
        )
        for kind, shape in sizes.shapes(layer).items()
    }
    gates, units = sizes.gates, sizes.units
    kernel, recurrent = read["weight_ih"], read["weight_hh"]
    zeros = np.zeros(gates * units, recurrent.dtype)
    return Cell(
        kernel.reshape(gates, units, kernel.shape[1]),
        recurrent.reshape(gates, units, recurrent.shape[1]),
        read.get("bias_ih", zeros).reshape(gates, units),
        read.get("bias_hh", zeros).reshape(gates, units),
        read.get("weight_hr"),
    )


def to_torch(
    layout: Layout, params: ArrayLike, prefix: str = "", bias: bool = True
) -> dict[str, np.ndarray]:
    """Makes a state dict for torch.nn.LSTM, GRU or RNN; the inverse of from_torch.

    The conversion is exact to the bit. If the op skips the input weights, weight_ih_l0 is the identity for
    every gate.

    Args:
        layout: A Layout.
        params: The buffer.
        prefix: Prefix of the names.
        bias: Whether the module has biases. If not, all biases must be 0.

    Returns:
        A dict of names to arrays, for load_state_dict after torch.from_numpy.

    Raises:
        ValueError: The buffer does not fit the layout, or bias is False and a bias is not 0.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops import params
        >>> layout = params.Layout("rnn_tanh", num_layers=1, num_units=3, input_size=2)
        >>> sorted(params.to_torch(layout, np.zeros(layout.size)))
        ['bias_hh_l0', 'bias_ih_l0', 'weight_hh_l0', 'weight_ih_l0']
    """
    state_dict = {}
    for k, cell in enumerate(to_cells(layout, params)):
        layer, direction = divmod(k, layout.num_directions)
        where = f"_l{layer}" + ("_reverse" if direction else "")
        gates, units, _ = cell.w.shape
        arrays: dict[str, np.ndarray] = {
            "weight_ih": cell.w.reshape(gates * units, -1),
            "weight_hh": cell.r.reshape(gates * units, -1),
        }
        if bias:
            arrays.update(bias_ih=cell.bw.ravel(), bias_hh=cell.br.ravel())
        elif np.any(cell.bw) or np.any(cell.br):
            raise ValueError(f"bias=False needs biases of 0, but those of layer {layer} are not.")
        if cell.projection is not None:
            arrays["weight_hr"] = cell.projection
        # WHY copies: torch.from_numpy would share the memory of the buffer.
        state_dict.update({f"{prefix}{n}{where}": np.array(a) for n, a in arrays.items()})
    return state_dict


def _mode_of_module(module: Any, prefix: str, rnn_mode: str | None) -> str | None:
    """'rnn_tanh' or 'rnn_relu' for a torch.nn.RNN, otherwise the given mode.

    Raises:
        ValueError: The module overrides forward() or has hooks, or does not have the given mode.
    """
    for name in prefix.split(".")[:-1]:
        module = getattr(module, name, None)
    where = f"The module {type(module).__name__}" + (f" at {prefix!r}" if prefix else "")
    if hasattr(module, "_orig_mod"):
        raise ValueError(
            f"{where} was made by torch.compile, so the names of its tensors begin with '_orig_mod.': give "
            f"the original module, or prefix={prefix + '_orig_mod.'!r}."
        )
    # Without such weights the RNN is a submodule, and _select() raises an error.
    if hasattr(module, "weight_ih_l0"):
        name = overridden_method(module, ("__call__", "forward"), TORCH)
        hooks = getattr(module, "_forward_hooks", {}) or getattr(module, "_forward_pre_hooks", {})
        if name or hooks:
            has = f"a method {name}" if name else "forward hooks"
            raise ValueError(
                f"{where} has {has} of its own, so its weights may not be the weights of an RNN of PyTorch. "
                "Convert its state_dict() if it computes the same function."
            )
    nonlinearity = getattr(module, "nonlinearity", None)
    if nonlinearity not in ("tanh", "relu"):
        return rnn_mode
    if rnn_mode not in (None, f"rnn_{nonlinearity}"):
        raise ValueError(
            f"rnn_mode must be 'rnn_{nonlinearity}' for {where[:1].lower()}{where[1:]}, but it is "
            f"{rnn_mode!r}."
        )
    return f"rnn_{nonlinearity}"


def _select(state_dict: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The tensors of the module, without the prefix."""
    tensors = {n[len(prefix) :]: t for n, t in state_dict.items() if n.startswith(prefix)}
    # A name with another dot belongs to a submodule.
    weights = {name: tensor for name, tensor in tensors.items() if "." not in name}
    if not any(_NAME.fullmatch(name) for name in weights):
        raise ValueError(
            f"state_dict has no tensor named {prefix}weight_ih_l0.{_hint(state_dict, weights)}"
        )
    for name in weights:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"state_dict has {prefix}{name}, which is not a weight of an LSTM, GRU or RNN."
            )
    return weights


def _check_not_computed(state_dict: Mapping[str, Any], prefix: str) -> None:
    """Rejects tensors from which PyTorch computes a weight in each call.

    Raises:
        ValueError: A tensor is of torch.nn.utils.parametrize, or of its older weight_norm or spectral_norm.
    """
    for name in state_dict:
        match = _COMPUTED.fullmatch(name.removeprefix(prefix))
        if match:
            weight = match["new"] or match["old"]
            older = {
                "orig": "remove_spectral_norm",
                "g": "remove_weight_norm",
                "v": "remove_weight_norm",
            }
            remedy = older.get(match["end"], "parametrize.remove_parametrizations")
            raise ValueError(
                f"state_dict has {name}, from which PyTorch computes {weight} in each call. First call "
                f"torch.nn.utils.{remedy}(module, {weight!r}), which stores its value."
            )


def _hint(state_dict: Mapping[str, Any], weights: Mapping[str, Any]) -> str:
    """Where the tensors are instead, or nothing."""
    prefixes = {n.removesuffix("weight_ih_l0") for n in state_dict if n.endswith(".weight_ih_l0")}
    if prefixes:
        return f" It has tensors of that name with the prefix {' or '.join(map(repr, sorted(prefixes)))}."
    if {"weight_ih", "weight_hh"} <= weights.keys():
        return (
            " It is that of a cell, such as LSTMCell: give {f'{name}_l0': tensor for name, tensor in "
            "cell.state_dict().items()}, the weights of a layer."
        )
    return ""
