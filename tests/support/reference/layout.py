"""The opaque parameter buffer.

For pseudo-layer 0 (layer 0 forward), 1 (layer 0 backward, if bidirectional), ...: the input
matrices of all gates [H, in], the recurrent matrices of all gates [H, O], the projection [P, H].
After the matrices of all pseudo-layers, for each pseudo-layer in the same order: the input biases
of all gates, the recurrent biases.
"""

import dataclasses

import numpy as np


@dataclasses.dataclass
class CellWeights:
    """Weights of one pseudo-layer; the same class holds their gradients.

    Attributes:
        w: [G, H, in] input matrices, or None where the input is skipped.
        r: [G, H, O] recurrent matrices.
        bw: [G, H] biases of the input half.
        br: [G, H] biases of the recurrent half.
        proj: [P, H], or None without projection.
    """

    w: np.ndarray | None
    r: np.ndarray
    bw: np.ndarray
    br: np.ndarray
    proj: np.ndarray | None

    def zeros_like(self):
        return CellWeights(*[None if a is None else np.zeros_like(a) for a in self.arrays()])

    def arrays(self):
        return (self.w, self.r, self.bw, self.br, self.proj)


def matrix_shapes(spec):
    """Shapes of (w, r, proj) per pseudo-layer, None for an absent one."""
    shapes = []
    for pseudo in range(spec.state_rows):
        layer = pseudo // spec.directions
        w = (
            (spec.gates, spec.units, spec.layer_input(layer))
            if spec.has_input_weights(layer)
            else None
        )
        r = (spec.gates, spec.units, spec.output_units)
        proj = (spec.num_proj, spec.units) if spec.has_projection else None
        shapes.append((w, r, proj))
    return shapes


def params_size(spec):
    matrices = sum(int(np.prod(s)) for row in matrix_shapes(spec) for s in row if s is not None)
    return matrices + spec.state_rows * 2 * spec.gates * spec.units


def unpack(spec, params):
    """Splits a flat buffer into a list of CellWeights, one per pseudo-layer."""
    params = np.asarray(params)
    if params.shape != (params_size(spec),):
        raise ValueError(f"params has shape {params.shape}, expected ({params_size(spec)},)")
    position = 0

    def take(shape):
        nonlocal position
        if shape is None:
            return None
        size = int(np.prod(shape))
        piece = params[position : position + size].reshape(shape)
        position += size
        return piece

    matrices = [[take(shape) for shape in row] for row in matrix_shapes(spec)]
    bias_shape = (spec.gates, spec.units)
    return [
        CellWeights(w=w, r=r, bw=take(bias_shape), br=take(bias_shape), proj=proj)
        for w, r, proj in matrices
    ]


def pack(spec, cells):
    """The inverse of unpack."""
    pieces = [a for cell in cells for a in (cell.w, cell.r, cell.proj) if a is not None]
    pieces += [a for cell in cells for a in (cell.bw, cell.br)]
    return np.concatenate([a.reshape(-1) for a in pieces])


def canonical(spec, params):
    """(weights, biases) as CudnnRNNParamsToCanonicalV2 lists them.

    Per pseudo-layer: G input matrices, G recurrent matrices, then the projection if there is one.
    An input matrix that skip_input leaves out is [H, 0].
    """
    weights, biases = [], []
    for cell in unpack(spec, params):
        if cell.w is None:
            weights += [np.zeros((spec.units, 0), params.dtype)] * spec.gates
        else:
            weights += list(cell.w)
        weights += list(cell.r)
        if cell.proj is not None:
            weights.append(cell.proj)
        biases += list(cell.bw) + list(cell.br)
    return weights, biases
