"""Reads torch_vectors.npz: problems and what torch answered, made by make_vectors.py."""

import dataclasses
import json
import pathlib

import numpy as np

from support.cases import RnnCase
from support.reference.spec import RnnSpec

PATH = pathlib.Path(__file__).with_name("torch_vectors.npz")

SPECS = (
    RnnSpec("lstm", 1, 3, 2),
    RnnSpec("lstm", 2, 4, 3, "bidirectional"),
    RnnSpec("lstm", 3, 5, 1),
    RnnSpec("lstm", 1, 5, 4, num_proj=2),
    RnnSpec("lstm", 2, 4, 3, "bidirectional", num_proj=3),
    RnnSpec("lstm", 1, 17, 5, "bidirectional"),
    RnnSpec("gru", 1, 3, 2),
    RnnSpec("gru", 2, 4, 5, "bidirectional"),
    RnnSpec("gru", 3, 7, 1),
    RnnSpec("rnn_tanh", 2, 4, 3, "bidirectional"),
    RnnSpec("rnn_tanh", 1, 9, 2),
    RnnSpec("rnn_relu", 2, 4, 3, "bidirectional"),
    RnnSpec("rnn_relu", 3, 5, 2),
)

_INPUTS = ("x", "h0", "c0", "params", "lengths", "dy", "dh", "dc")


def save(cases, results, torch_version):
    arrays = {}
    for k, (case, result) in enumerate(zip(cases, results)):
        arrays[f"{k}.spec"] = np.array(json.dumps(dataclasses.asdict(case.spec)))
        arrays.update({f"{k}.in.{name}": getattr(case, name) for name in _INPUTS})
        arrays.update({f"{k}.out.{name}": value for name, value in result.items()})
    arrays["torch_version"] = np.array(torch_version)
    np.savez_compressed(PATH, **arrays)


def load():
    """Returns a list of (RnnCase, dict of results)."""
    pairs = []
    with np.load(PATH) as data:
        for k in range(len(SPECS)):
            case = RnnCase(
                spec=RnnSpec(**json.loads(str(data[f"{k}.spec"]))),
                dtype="float64",
                **{name: data[f"{k}.in.{name}"] for name in _INPUTS},
            )
            prefix = f"{k}.out."
            names = [n for n in data.files if n.startswith(prefix)]
            pairs.append((case, {n.removeprefix(prefix): data[n] for n in names}))
    return pairs
