"""The position of each weight and bias in the opaque parameter buffer.

This module mirrors cc/core/op/param_layout; docs/raw-ops.md describes both.
"""

import dataclasses
import functools
from typing import Any, Iterable, NamedTuple, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tf_rnn_ops._python import checks
from tf_rnn_ops.params import gates

# The gates of each mode, in the order of the buffer.
GATES = {
    mode: tuple(gates.of_modes("buffer")[mode]) for mode in ("rnn_relu", "rnn_tanh", "lstm", "gru")
}
_INPUT_MODES = ("linear_input", "skip_input", "auto_select")
DIRECTIONS = ("unidirectional", "bidirectional")


def num_directions(direction: str) -> int:
    """D: 1, or 2 for 'bidirectional'."""
    return 2 if direction == "bidirectional" else 1


class Block(NamedTuple):
    """One canonical tensor and its place in the buffer.

    Attributes:
        layer: From 0 to L - 1.
        direction: 0 forward, 1 backward.
        source: 'input', 'recurrent' or 'projection', the value that the tensor is applied to.
        gate: Name of the gate; '' for a projection, which has none.
        offset: The position of its first element.
        shape: (H, in) of a weight, (P, H) of a projection, (H,) of a bias; row-major.

    Example:
        >>> from tf_rnn_ops.params import Layout
        >>> Layout("gru", num_layers=1, num_units=3, input_size=2).biases[-1]
        Block(layer=0, direction=0, source='recurrent', gate='h', offset=60, shape=(3,))
    """

    layer: int
    direction: int
    source: str
    gate: str
    offset: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements; 0 for the input weights of layer 0 if they are skipped."""
        size = 1
        for dim in self.shape:
            size *= dim
        return size

    @property
    def end(self) -> int:
        """The position after the last element."""
        return self.offset + self.size

    def __str__(self) -> str:
        gate = f", gate {self.gate}" if self.gate else ""
        return f"layer {self.layer}, direction {self.direction}, {self.source}{gate}"


def blocks_of(blocks: Sequence[Block], layer: int, direction: int, source: str) -> dict[str, Block]:
    """{gate: Block} of one layer, direction and source, in the order of the buffer."""
    place = layer, direction, source
    return {b.gate: b for b in blocks if (b.layer, b.direction, b.source) == place}


@dataclasses.dataclass(frozen=True)
class Layout:
    """The place of each weight in the parameter vector of a stack or a CudnnRNN op.

    Layouts of one network are equal, and a layout can be the key of a dict.

    Args:
        rnn_mode: 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
        num_layers: L, at least 1.
        num_units: H, at least 1.
        input_size: I, at least 1.
        input_mode: 'linear_input', 'skip_input' (layer 0 has no input weights; I must be H) or
            'auto_select' (skips where I is H).
        direction: 'unidirectional' or 'bidirectional'.
        num_proj: P, at most H; must be 0 without 'lstm'. 0 and H mean no projection.

    Attributes:
        size: Number of elements of the buffer, as CudnnRNNParamsSize returns it.
        weights: Blocks of the weights, in the order of CudnnRNNParamsToCanonicalV2.
        biases: Blocks of the biases, in the order of CudnnRNNParamsToCanonicalV2.
        rnn_mode: As given, like num_layers, num_units, input_size and direction.
        input_mode: 'linear_input' or 'skip_input'; 'auto_select' is resolved.
        num_proj: Size of the projection; 0 for none.
        num_directions: 1 or 2.

    Raises:
        ValueError: An argument is out of range.

    Example:
        >>> import numpy as np
        >>> from tf_rnn_ops.params import Layout
        >>> layout = Layout("gru", num_layers=1, num_units=3, input_size=2)
        >>> layout.size
        63
        >>> weights, biases = layout.unpack(np.arange(63.0))
        >>> [w.shape for w in weights]
        [(3, 2), (3, 2), (3, 2), (3, 3), (3, 3), (3, 3)]
        >>> str(layout.weights[1]), layout.weights[1].offset
        ('layer 0, direction 0, input, gate u', 6)
        >>> bool((layout.pack(weights, biases) == np.arange(63.0)).all())
        True
    """

    rnn_mode: str
    num_layers: int
    num_units: int
    input_size: int
    input_mode: str = "linear_input"
    direction: str = "unidirectional"
    num_proj: int = 0

    def __post_init__(self) -> None:
        _one_of("rnn_mode", self.rnn_mode, tuple(GATES))
        for name in ("num_layers", "num_units", "input_size"):
            self._resolve(name, checks.at_least(name, getattr(self, name), 1))
        _one_of("direction", self.direction, DIRECTIONS)
        _one_of("input_mode", self.input_mode, _INPUT_MODES)
        self._resolve("num_proj", self._checked_projection(self.num_proj))
        self._resolve("input_mode", self._resolved_input_mode())

    def _resolve(self, name: str, value: Any) -> None:
        """Replaces an argument by its meaning, so that layouts of one network are equal."""
        object.__setattr__(self, name, value)

    @property
    def num_directions(self) -> int:
        return num_directions(self.direction)

    @property
    def size(self) -> int:
        return self.biases[-1].end

    @property
    def weights(self) -> tuple[Block, ...]:
        return self._blocks[0]

    @property
    def biases(self) -> tuple[Block, ...]:
        return self._blocks[1]

    def pack(self, weights: Sequence[ArrayLike], biases: Sequence[ArrayLike]) -> np.ndarray:
        """Joins canonical tensors into a buffer.

        Args:
            weights: Arrays of the shapes of `self.weights`, in that order.
            biases: Arrays of the shapes of `self.biases`, in that order.

        Returns:
            A new vector of `size` elements with the arrays' dtype.

        Raises:
            ValueError: The number of arrays, a shape or a dtype is wrong.
        """
        pieces = _checked_arrays("weights", weights, self.weights)
        pieces += _checked_arrays("biases", biases, self.biases)
        # The type of an empty array (skipped input weights) does not matter.
        dtypes = {piece.dtype for piece in pieces if piece.size}
        if len(dtypes) > 1:
            names = ", ".join(sorted(str(dtype) for dtype in dtypes))
            raise ValueError(f"All weights and biases must have one dtype, but they have {names}.")
        return np.concatenate([piece.ravel() for piece in pieces if piece.size])

    def unpack(self, buffer: ArrayLike) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Splits a buffer into canonical tensors.

        Args:
            buffer: A vector of `size` elements.

        Returns:
            A pair (weights, biases) of lists of arrays. They are views if the buffer is an array.

        Raises:
            ValueError: The buffer is not a vector of `size` elements.
        """
        buffer = np.asarray(buffer)
        if buffer.shape != (self.size,):
            raise ValueError(
                f"The buffer must have shape ({self.size},), but its shape is {buffer.shape}."
            )
        weights, biases = (
            [buffer[block.offset : block.end].reshape(block.shape) for block in blocks]
            for blocks in (self.weights, self.biases)
        )
        return weights, biases

    def _checked_projection(self, num_proj: Any) -> int:
        num_proj = checks.at_least("num_proj", num_proj, 0)
        if num_proj and self.rnn_mode != "lstm":
            raise ValueError(
                f"num_proj must be 0 for rnn_mode={self.rnn_mode!r}, because only 'lstm' has a "
                f"projection, but it is {num_proj}."
            )
        if num_proj > self.num_units:
            raise ValueError(
                f"num_proj must be at most num_units, which is {self.num_units}, but it is "
                f"{num_proj}."
            )
        return 0 if num_proj == self.num_units else num_proj

    def _resolved_input_mode(self) -> str:
        same = self.input_size == self.num_units
        if self.input_mode == "auto_select":
            return "skip_input" if same else "linear_input"
        if self.input_mode == "skip_input" and not same:
            raise ValueError(
                "input_mode='skip_input' needs an input_size equal to num_units, but input_size is "
                f"{self.input_size} and num_units is {self.num_units}."
            )
        return self.input_mode

    @functools.cached_property
    def _blocks(self) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        gates = GATES[self.rnn_mode]
        units = self.num_units
        hidden = self.num_proj or units
        num_dirs = self.num_directions
        end = 0

        def take(
            blocks: list[Block],
            layer: int,
            direction: int,
            source: str,
            gate: str,
            shape: tuple[int, ...],
        ) -> None:
            nonlocal end
            blocks.append(Block(layer, direction, source, gate, end, shape))
            end = blocks[-1].end

        pseudo_layers = [(k, d) for k in range(self.num_layers) for d in range(num_dirs)]
        weights: list[Block] = []
        biases: list[Block] = []
        for layer, direction in pseudo_layers:
            inputs = num_dirs * hidden
            if layer == 0:
                inputs = 0 if self.input_mode == "skip_input" else self.input_size
            for gate in gates:
                take(weights, layer, direction, "input", gate, (units, inputs))
            for gate in gates:
                take(weights, layer, direction, "recurrent", gate, (units, hidden))
            if self.num_proj:
                take(weights, layer, direction, "projection", "", (self.num_proj, units))
        for layer, direction in pseudo_layers:
            for source in ("input", "recurrent"):
                for gate in gates:
                    take(biases, layer, direction, source, gate, (units,))
        return tuple(weights), tuple(biases)


def _one_of(name: str, value: Any, choices: Sequence[str]) -> None:
    if value in choices:
        return
    listed = ", ".join(repr(choice) for choice in choices[:-1])
    raise ValueError(f"{name} must be {listed} or {choices[-1]!r}, but it is {value!r}.")


def _checked_arrays(
    name: str, arrays: Iterable[ArrayLike], blocks: Sequence[Block]
) -> list[np.ndarray]:
    checked = [np.asarray(array) for array in arrays]
    if len(checked) != len(blocks):
        raise ValueError(f"{name} must be {len(blocks)} arrays, but there are {len(checked)}.")
    for k, (array, block) in enumerate(zip(checked, blocks)):
        if array.shape != block.shape:
            raise ValueError(
                f"{name}[{k}] ({block}) must have shape {block.shape}, but its shape is "
                f"{array.shape}."
            )
    return checked
