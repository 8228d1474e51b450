"""Writes exported_models.npz: ONNX files of torch.onnx (both exporters) and of Keras (tf2onnx).

    python tests/params/make_exported_models.py

It needs torch, onnxscript, tf2onnx and Keras, which the tests do not. `name` is the serialized model, `name:x` its
input, `name:y` the result of the framework, both [B, T, ...], and `name:state` an initial state [L, B, H].
"""

import io
import os
import pathlib
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

FILE = pathlib.Path(__file__).with_suffix("").with_name("exported_models.npz")
STEPS, BATCH, INPUTS, UNITS = 6, 2, 3, 4


class Plain(torch.nn.Module):
    """A module that returns its sequence."""

    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = getattr(torch.nn, kind)(INPUTS, UNITS, **options)

    def forward(self, x):
        return self.rnn(x)[0]


class WithState(Plain):
    def forward(self, x, h):
        return self.rnn(x, h)[0]


class Learned(Plain):
    """Begins with a state that is trained."""

    def __init__(self, kind):
        super().__init__(kind)
        self.h0 = torch.nn.Parameter(torch.randn(1, 1, UNITS))

    def forward(self, x):
        return self.rnn(x, self.h0.expand(-1, x.shape[1], -1).contiguous())[0]


class Two(torch.nn.Module):
    """Two modules, the second batch first; with `states` it begins with those of the first."""

    def __init__(self, states):
        super().__init__()
        self.states = states
        self.a = torch.nn.LSTM(INPUTS, UNITS)
        self.b = torch.nn.LSTM(UNITS, UNITS, batch_first=not states)

    def forward(self, x):
        y, states = self.a(x)
        if self.states:
            return self.b(y, states)[0]
        return self.b(y.transpose(0, 1))[0].transpose(0, 1)


class Packed(Plain):
    """Runs over lengths that are written into the graph."""

    def forward(self, x):
        packed = pack_padded_sequence(x, torch.tensor([STEPS, 3]))
        return pad_packed_sequence(self.rnn(packed)[0], total_length=STEPS)[0]


TORCH = {
    "lstm": lambda: Plain("LSTM", num_layers=2, bidirectional=True),
    "gru": lambda: Plain("GRU", num_layers=2, batch_first=True),
    "relu": lambda: Plain("RNN", nonlinearity="relu"),
    "state": lambda: WithState("GRU", num_layers=2),
    "learned": lambda: Learned("GRU"),
    "two": lambda: Two(states=False),
    "states": lambda: Two(states=True),
    "packed": lambda: Packed("LSTM"),
}
OPEN = {0: "t", 1: "b"}
EXPORTERS = {
    "script": {"dynamo": False, "opset_version": 14},
    "script_unfolded": {
        "dynamo": False, "opset_version": 14, "do_constant_folding": False, "input_names": ["x"],
        "dynamic_axes": {"x": OPEN},
    },
    "dynamo": {"dynamo": True, "verbose": False},
    "dynamo_open": {"dynamo": True, "verbose": False, "dynamic_shapes": True},
}  # fmt: skip


def _stripped(serialized):
    """The bytes of a model without notes on where its source stands."""
    model = onnx.load_from_string(serialized)
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.value_info, *graph.input, *graph.output):
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
    return np.frombuffer(model.SerializeToString(), np.uint8)


def _of_torch(found):
    for name, make in TORCH.items():
        torch.manual_seed(len(name))
        module = make().eval()
        batch_first = name == "gru"
        shape = (BATCH, STEPS, INPUTS) if batch_first else (STEPS, BATCH, INPUTS)
        given = [torch.randn(shape)] + ([torch.randn(2, BATCH, UNITS)] if name == "state" else [])
        with torch.no_grad():
            y = module(*given).numpy()
        for exporter, options in EXPORTERS.items():
            if "dynamo" in exporter and name in ("relu", "packed"):
                continue  # written as steps, or not at all
            if "dynamic_shapes" in options:
                dims = {k: torch.export.Dim(d) for k, d in OPEN.items()}
                options = options | {"dynamic_shapes": (dims, *[None] * (len(given) - 1))}
            file = io.BytesIO()
            torch.onnx.export(module, tuple(given), file, **options)
            key = f"{exporter}:{name}"
            found[key] = _stripped(file.getvalue())
            x = given[0].numpy()
            found[f"{key}:x"], found[f"{key}:y"] = (
                a if batch_first else a.swapaxes(0, 1) for a in (x, y)
            )
            if len(given) > 1:
                found[f"{key}:state"] = given[1].numpy()


def _of_keras(found):
    layers = keras.layers

    def lstm(**options):
        return layers.LSTM(UNITS, return_sequences=True, **options)

    def encoder(x):
        y, *states = lstm(return_state=True)(x)
        return lstm()(y, initial_state=states)

    builds = {
        "lstm": lambda x: lstm()(lstm()(x)),
        "bidirectional": lambda x: layers.Bidirectional(lstm())(layers.Bidirectional(lstm())(x)),
        "states": encoder,
    }
    for name, build in builds.items():
        keras.utils.set_random_seed(len(name))
        i = keras.Input((None, INPUTS))
        model = keras.Model(i, build(i))
        x = np.random.default_rng(1).standard_normal((BATCH, STEPS, INPUTS)).astype("float32")
        y = np.asarray(model(x))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            model.export(path, format="onnx", verbose=False)
            found[f"keras:{name}"] = _stripped(path.read_bytes())
        found[f"keras:{name}:x"], found[f"keras:{name}:y"] = x, y


def main():
    found = {}
    _of_torch(found)
    _of_keras(found)
    np.savez_compressed(FILE, **found)


if __name__ == "__main__":
    main()
