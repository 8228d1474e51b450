"""Exports the model of a Network, runs the file elsewhere, and compares with layers of Keras in float64."""

import pathlib
import tempfile

import keras
import numpy as np

from robustness.model_problem import inputs, rejections
from robustness.model_problem.build import Built
from robustness.model_problem.runtimes import Died
from robustness.model_problem.stacks import KerasStack
from robustness.model_problem.tolerance import allowed

_FILES = {
    "tf_saved_model": "model", "onnx": "model.onnx", "litert": "model.tflite", "openvino": "model.xml",
    "rnn": "model.rnn",
}  # fmt: skip
RIGHT = "right"


def check(network, runtimes):
    """Exports the model in each format of a Network and compares the results.

    Args:
        network: The Network.
        runtimes: The Runtimes.

    Returns:
        {format: 'right', 'rejected: ' and the row of docs/export.md, or 'wrong: ' and what is wrong}; or
        {'model': 'not valid: ' and the error} if Keras rejects the model.
    """
    try:
        keras.utils.set_random_seed(1)
        problem = _Problem(network)
        problem.want(network.formats[0])
    except Exception as error:  # layers of Keras raise errors of any kind
        return {"model": f"not valid: {type(error).__name__}: {_first_line(error)}"}
    return {format: problem.check(format, runtimes) for format in network.formats}


def failures(found, line=""):
    """The sentences on what is wrong in a result of check(), each behind the line that repeats it."""
    return [
        f"format={format} {line}\n  {outcome}"
        for format, outcome in found.items()
        if outcome.startswith("wrong")
    ]


def _first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else ""


class _Problem:
    """A model, its reference, and the results of the reference."""

    def __init__(self, network):
        self.network = network
        self.built, self.reference = Built(network), Built(network, reference=True)
        self.model = self.built.model
        rng = np.random.default_rng(network.seed)
        for weight in self.model.weights:
            weight.assign(_drawn(rng, weight))
        if network.int8 == "weights":
            self._quantize()
        self._copy_weights()
        for built in (self.built, self.reference):
            for layer in built.made:
                if network.stateful and hasattr(layer, "reset_state"):
                    layer.reset_state()
        self._wanted = {}

    def _quantize(self):
        """The model gets int8 weights, and the reference the values of these."""
        import tf_rnn_ops.keras as rnn
        from tf_rnn_ops.keras._internals.layers import flatten_layers

        self.model = rnn.convert(self.built.model, quantize="int8")
        pairs = zip(flatten_layers(self.built.model), flatten_layers(self.model), strict=True)
        for stock, ours in pairs:
            for name in ("kernel", "recurrent_kernel"):
                if hasattr(ours, f"{name}_scale"):
                    scale = np.asarray(getattr(ours, f"{name}_scale"))
                    values = np.asarray(getattr(ours, name), np.float32) * scale
                    getattr(stock, name).assign(values)

    def _copy_weights(self):
        for layer, twin in zip(self.built.made, self.reference.made, strict=True):
            if isinstance(twin, KerasStack):
                twin.set_buffer(np.asarray(layer.params, np.float64))
                continue
            for weight, other in zip(layer.weights, twin.weights, strict=True):
                other.assign(np.asarray(weight, np.float64))

    # ---- calls ----

    def calls(self, format):
        """The Calls of a file of a format."""
        network = self.network
        batch, time = (network.open in (one, "both") for one in ("batch", "time"))
        if network.api == "called":
            batch = not network.stateful
        batch = batch and not self._fixes("batch") and format != "litert"
        return inputs.calls_of(network, batch, time and not self._fixes("time"))

    def _fixes(self, size):
        return self.network.open in (size, "both") and self.network.fix in (size, "both")

    def _one_row(self, format):
        """Whether a file has the batch size 1 for an open one."""
        opened = self.network.api == "called" and not self.network.stateful
        is_open = self.network.open in ("batch", "both") or opened
        return format == "litert" and is_open and not self._fixes("batch")

    def want(self, format):
        """[(inputs, outputs)] of each call, by name in the grammar."""
        calls = self.calls(format)
        # A stepper begins new streams in each call.
        of_streams = format == "rnn"
        key = (of_streams, *calls)
        if key not in self._wanted:
            found = []
            self._reset()
            for call in calls:
                if of_streams:
                    self._reset()
                arrays = inputs.arrays_of(self.network, self.built.inputs, call)
                given = [
                    a if a.dtype.kind in "ib" else a.astype(np.float64) for a in arrays.values()
                ]
                results = self.reference.model(given, training=False)
                if not isinstance(results, dict):
                    results = {"only": results}
                found.append((arrays, {name: np.asarray(one) for name, one in results.items()}))
            self._wanted[key] = found
        return self._wanted[key]

    def _reset(self):
        if self.network.stateful:
            for layer in self.reference.made:
                if hasattr(layer, "reset_state"):
                    layer.reset_state()

    # ---- files ----

    def check(self, format, runtimes):
        import tf_rnn_ops.keras as rnn

        network = self.network
        options = {"verify": bool(network.verify), "print_fn": None}
        if network.int8 == "file":
            options["weight_format"] = "int8"
        if format == "onnx":
            options["opset"] = network.opset
        if format == "rnn":
            options["streaming"] = True
        options |= {"batch_size": network.B} if self._fixes("batch") else {}
        options |= {"time": network.T} if self._fixes("time") else {}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / _FILES[format]
            try:
                report = rnn.export(self.model, path, format, **options)
            except ValueError as error:
                return rejections.outcome(network, format, str(error))
            except Exception as error:
                return f"wrong: {type(error).__name__}: {_first_line(error)}"
            pairs = self.want(format)
            if self._one_row(format):
                pairs = [tuple(_row(k, arrays) for arrays in pair) for k, pair in enumerate(pairs)]
            calls = [self._named(format, arrays, report.note) for arrays, _ in pairs]
            try:
                results = runtimes.run(format, path, calls)
            except Died as error:
                return f"wrong: {error}"
        if isinstance(results, str):
            return f"wrong: the file does not run: {results[:700]}"
        return self._compare(format, report, pairs, results)

    def _named(self, format, arrays, note):
        """The arrays by the names of the inputs of the file, of which the report tells."""
        if self.network.api == "called" and format != "tf_saved_model":
            (array,) = arrays.values()
            return {"input_0": array.astype(self.model.inputs[0].dtype)}
        specs = list(self.built.inputs.values())
        if self.network.api in ("sequential", "called"):
            specs = self.model.inputs
        # The Input that a Sequential makes for itself has the type of its first layer, also for words.
        return {
            _renamed("input", spec.name, note): array.astype(spec.dtype)
            for spec, array in zip(specs, arrays.values(), strict=True)
        }

    def _compare(self, format, report, pairs, results):
        names = self.built.outputs or {"output_0": self.network.outputs[0]}
        for k, ((_, want), got) in enumerate(zip(pairs, results, strict=True)):
            expected = {
                self._output_of_file(format, file_name, name, report.note): name
                for file_name, name in names.items()
            }
            if sorted(expected) != sorted(got):
                return f"wrong: the file has the outputs {sorted(got)}, not {sorted(expected)}"
            for file_name, name in expected.items():
                found = np.asarray(got[file_name])
                wanted = want[name] if name in want else next(iter(want.values()))
                if found.shape != wanted.shape:
                    return f"wrong: {name} of call {k + 1} has the shape {found.shape}, not {wanted.shape}"
                limit = allowed(self.network, format, wanted, pairs[k][0])
                error = np.max(np.abs(found.astype(np.float64) - wanted), initial=0.0)
                if not error <= limit:
                    return (
                        f"wrong: {name} of call {k + 1} differs by {error:.2g}, allowed are {limit:.2g}; "
                        f"verify={self.network.verify}"
                    )
        return RIGHT

    def _output_of_file(self, format, file_name, name, note):
        """The name of an output in the answer of a process."""
        state = self.built.inputs.get(name.replace("state_", "state"))
        if format == "rnn" and state is not None:  # serve.py
            return f"{_renamed('input', state.name, note)}_next"
        return _renamed("output", file_name, note)


def _row(k, arrays):
    rows = len(next(iter(arrays.values())))
    return {name: array[k % rows : k % rows + 1] for name, array in arrays.items()}


def _renamed(what, name, note):
    """The name in the file of an input or output."""
    start = f"The {what} {name!r} is named '"
    return note.split(start)[1].split("'")[0] if start in note else name


def _drawn(rng, weight):
    """Numbers with which a step of a network does not amplify the rounding of the step before."""
    shape = weight.shape
    name = weight.path.rsplit("/")[-1]
    if "variance" in name:
        return rng.uniform(0.5, 1.5, shape)
    if "recurrent" in name or name == "params":
        return rng.uniform(-0.4, 0.4, shape)
    return rng.uniform(-0.7, 0.7, shape)
