"""Writes a SavedModel and reads it back, each in a process of its own."""

import json

import numpy as np

from support import subproc


def write_model(folder, spec, case, time_major=True):
    """Writes folder / "model" with the case's parameters."""
    np.save(folder / "params.npy", case.params)
    described = {
        "rows": spec.state_rows,
        "units": spec.units,
        "width": spec.output_units,
        "input_size": spec.input_size,
        "attrs": {**spec.attrs(), "time_major": time_major},
    }
    subproc.run_module(
        "ops.stock.gpu_model_writer", folder / "model", json.dumps(described), folder / "params.npy"
    )


def read_model(folder, case, with_what, model=None):
    """Arrays of gpu_model_reader; the model is folder / "model" unless given."""
    model = model or folder / "model"
    names = ("x", "lengths", "h0", "c0", "dy", "dh", "dc")
    np.savez(folder / "case.npz", **{name: getattr(case, name) for name in names})
    out = folder / "out.npz"
    subproc.run_module("ops.stock.gpu_model_reader", model, folder / "case.npz", out, with_what)
    with np.load(out) as data:
        return {name: data[name] for name in data.files}
