"""Makes torch_vectors.npz, the stored answers of torch for machines without it.

Needs torch. From the repository root: `PYTHONPATH=tests python tests/ops/parity/make_vectors.py`
"""

import numpy as np
import torch

from ops.parity import torch_rnn, vectors
from support.cases import rnn_case


def main():
    rng = np.random.default_rng(20260101)
    cases = []
    for spec in vectors.SPECS:
        steps, batch = int(rng.integers(3, 7)), int(rng.integers(2, 5))
        lengths = rng.integers(1, steps + 1, size=batch)
        cases.append(rnn_case(spec, steps, batch, rng, lengths=lengths))
    vectors.save(cases, [torch_rnn.run(case) for case in cases], torch.__version__)
    print(f"{vectors.PATH.name}: {len(cases)} cases, {vectors.PATH.stat().st_size} bytes")


if __name__ == "__main__":
    main()
