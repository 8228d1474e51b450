"""Compares two models on the same input."""

import contextlib
import os
import pathlib
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tf_rnn_ops._comparison import differences, npz, random_arrays
from tf_rnn_ops._comparison.differences import Comparison
from tf_rnn_ops._python.one_line import one_line
from tf_rnn_ops.autodiff.stock import enable_stock_ops

# The size of every open dimension of a signature. All have the same size, because a signature does not
# tell which dimensions must be equal.
_OPEN = 3
_WHICH = ("original", "rewritten")

Inputs = Mapping[str, Any] | str | os.PathLike[str]
"""Arrays by name, or the path of a file of np.savez."""


def verify_saved_model(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    verify_inputs: Inputs | None = None,
    seed: int = 0,
) -> list[Comparison]:
    """Runs every signature of two SavedModels on the same input.

    The original needs kernels for TensorFlow's own ops, so this calls enable_stock_ops().

    Args:
        source: Folder of the original SavedModel.
        target: Folder of the rewritten SavedModel.
        verify_inputs: {name of an argument of a signature: array}, or the path of a file of np.savez with
            these arrays. Other arguments get random numbers, the integers 1
            and 2, and short strings. Those of one dimension get numbers from 1 to 3, since they may be lengths.
        seed: Seed of the random numbers.

    Returns:
        A list of Comparison, one for each output of each signature. If there are several graphs, such as
        TensorFlow 1's graphs for training and serving, it has the outputs of each graph. Those of a
        graph, a signature or an output that only one of the models has have a `fault`.

    Raises:
        ValueError: `verify_inputs` has a name that no signature has, or lacks an argument of unknown shape; or
            a model cannot be loaded or does not run on the arguments.
    """
    enable_stock_ops()
    graphs = [_tags_of(*pair) for pair in zip((source, target), _WHICH)]
    comparisons = []
    if [len(tags) for tags in graphs] == [1, 1]:
        graphs = [[None], [None]]  # a single graph may have other tags in each model
    else:
        comparisons += _missing_in_one(
            [[", ".join(tags) for tags in model_tags] for model_tags in graphs]
        )
    both = [tags for tags in graphs[0] if tags in graphs[1]]
    models = {
        tags: [_load(folder, which, tags) for folder, which in zip((source, target), _WHICH)]
        for tags in both
    }
    inputs = _arrays_of(verify_inputs or {})
    _check_names(inputs, models.values())
    for tags, pair in models.items():
        where = f"{', '.join(tags)}: " if tags else ""
        comparisons += _compare_signatures(pair, where, inputs, seed)
    return comparisons


def _arrays_of(verify_inputs: Inputs) -> dict[str, Any]:
    """The arrays by name, of a file if it is a path."""
    if isinstance(verify_inputs, (str, os.PathLike)):
        return npz.arrays_of(verify_inputs)
    return dict(verify_inputs)


def _check_names(inputs: dict[str, Any], models: Iterable[Sequence[Any]]) -> None:
    """Raises ValueError for an input that is not an argument of the original model."""
    signatures = [s for original, _ in models for s in original.signatures.values()]
    known = {key for s in signatures for key in s.structured_input_signature[1]}
    if unknown := sorted(set(inputs) - known):
        raise ValueError(
            f"No signature has an argument {unknown[0]!r}; they have {', '.join(sorted(known))}."
        )


def _compare_signatures(
    models: Sequence[Any], where: str, inputs: dict[str, Any], seed: int
) -> list[Comparison]:
    signatures = [model.signatures for model in models]
    comparisons = _missing_in_one(signatures, where)
    for name in [name for name in signatures[0] if name in signatures[1]]:
        specs = signatures[0][name].structured_input_signature[1]
        rng = np.random.default_rng(seed)
        shapes = (spec.shape.as_list() for spec in specs.values() if spec.shape.rank is not None)
        steps = random_arrays.least_steps(shapes, _OPEN)
        arguments = {key: _argument(inputs, key, spec, rng, steps) for key, spec in specs.items()}
        results = []
        for signature, which in zip((s[name] for s in signatures), _WHICH):
            with _explained(f"The {which} model's signature {name!r}", arguments):
                results.append(signature(**arguments))
        for output in sorted(results[0].keys() & results[1].keys()):
            pair = [result[output] for result in results]
            comparisons.append(compare(f"{where}{name}: {output}", *pair))
        comparisons += _missing_in_one(results, f"{where}{name}: ")
    return comparisons


def _missing_in_one(names: Sequence[Any], where: str = "") -> list[Comparison]:
    """A Comparison that fails for each name that only one of two collections has."""
    return [
        Comparison(f"{where}{name}", fault=f"only the {which} model has it.")
        for present, opposite, which in zip(names, reversed(names), _WHICH)
        for name in present
        if name not in opposite
    ]


def verify_graph_def(
    source: Any, target: Any, verify_inputs: Inputs, outputs: Iterable[str]
) -> list[Comparison]:
    """Runs two GraphDefs on the same input.

    Args:
        source: The original GraphDef. enable_stock_ops() runs TensorFlow's own ops.
        target: The rewritten GraphDef.
        verify_inputs: {name of a tensor to feed: array}, or the path of a file of np.savez with these arrays.
            A name is 'x:0', or 'x' for the first output of the node x.
        outputs: Names of the tensors to compare, in the form of the names in `verify_inputs`.

    Returns:
        A list of Comparison, one for each output.

    Raises:
        ValueError: `outputs` is empty or a string, `verify_inputs` names a tensor twice, a tensor is not in
            the graphs, or a graph does not run on the inputs.
    """
    names = [] if isinstance(outputs, str) else list(outputs)
    if not names:
        raise ValueError(f"outputs must be a list of names of tensors, but it is {outputs!r}.")
    inputs = _arrays_of(verify_inputs)
    feeds = {_tensor_name(name): array for name, array in inputs.items()}
    if len(feeds) < len(inputs):
        raise ValueError(
            f"verify_inputs must name each tensor once, but it has {', '.join(inputs)}."
        )
    enable_stock_ops()
    results = []
    for graph_def, which in zip((source, target), _WHICH):
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(graph_def, name="")
            config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
            session = tf.compat.v1.Session(graph=graph, config=config)
            with session, _explained(f"The {which} graph", feeds):
                results.append(session.run([_tensor_name(name) for name in names], feeds))
    return [compare(name, *pair) for name, *pair in zip(names, *results, strict=True)]


def _tensor_name(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def compare(name: str, before: Any, after: Any) -> Comparison:
    """A Comparison of two tensors or arrays."""
    before, after = tf.convert_to_tensor(before), tf.convert_to_tensor(after)
    if before.dtype != after.dtype:
        types = f"{after.dtype.name} instead of {before.dtype.name}"
        return Comparison(name, fault=f"the output {name!r} has the type {types}.")
    limits = differences.LIMITS.get(before.dtype.name, differences.LIMITS["float32"])
    got, want = map(differences.array_of, (after, before))
    return differences.compare(name, got, want, limits)


def _tags_of(folder: str | os.PathLike[str], which: str) -> list[Any]:
    """The tags of each graph of a SavedModel, which may have several graphs in TensorFlow 1."""
    path = pathlib.Path(folder) / "saved_model.pb"
    model = _loaded(which, lambda: saved_model_pb2.SavedModel.FromString(path.read_bytes()))
    return [tuple(graph.meta_info_def.tags) for graph in model.meta_graphs]


def _load(folder: str | os.PathLike[str], which: str, tags: Any) -> Any:
    return _loaded(which, tf.saved_model.load, str(folder), tags and list(tags))


def _loaded(which: str, load: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return load(*arguments)
    except Exception as error:  # for a broken file TensorFlow raises errors of any kind
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise ValueError(f"The {which} model cannot be loaded: {reason}") from error


@contextlib.contextmanager
def _explained(what: str, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Turns TensorFlow's errors into a ValueError with the arguments of the run."""
    try:
        yield
    except (tf.errors.OpError, KeyError, TypeError, ValueError) as error:
        shapes = ", ".join(f"{name} {list(np.shape(a))}" for name, a in arguments.items())
        inputs = f"on {shapes}" if shapes else "without inputs"
        raise differences.not_run(what, inputs, error) from error


def _argument(
    inputs: dict[str, Any], name: str, spec: Any, rng: np.random.Generator, steps: int
) -> tf.Tensor:
    if name in inputs:
        return tf.cast(tf.convert_to_tensor(inputs[name]), spec.dtype)
    if spec.shape.rank is None:
        raise ValueError(
            f"The shape of the argument {name!r} is not known: give it in verify_inputs."
        )
    shape, dtype = spec.shape.as_list(), spec.dtype.as_numpy_dtype
    return tf.constant(random_arrays.array(shape, dtype, rng, _OPEN, _OPEN, steps), spec.dtype)
