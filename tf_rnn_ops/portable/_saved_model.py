"""Rewrites a SavedModel: a new folder with a new graph and the files of the old one."""

import contextlib
import os
import pathlib
import shutil
from typing import Any, Callable, Iterator

from google.protobuf import message
from tensorflow.core.protobuf import saved_model_pb2

from tf_rnn_ops._python import atomic_write
from tf_rnn_ops.native.tf_internals import registries
from tf_rnn_ops.portable import _nodes, _rewrite, _verify
from tf_rnn_ops.portable._report import Report

_GRAPH_FILE = "saved_model.pb"
# A hash of the old graph, which would be wrong for the new graph. The file is optional.
_FINGERPRINT = "fingerprint.pb"


def rewrite_saved_model(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    inference: bool = False,
    clear_devices: bool = False,
    verify: bool = True,
    verify_inputs: _verify.Inputs | None = None,
) -> Report:
    """Writes a copy of a SavedModel without TensorFlow's CudnnRNN ops.

    Variables, assets and signatures do not change. A model that tf.saved_model.load() reads can still be
    trained, since TensorFlow computes new gradients.

    Args:
        source: Folder of the SavedModel.
        target: Folder to write, which must not exist.
        inference: See rewrite_graph_def().
        clear_devices: See rewrite_graph_def().
        verify: Whether to run every signature of both models and compare the results; see
            verify_saved_model().
        verify_inputs: See verify_saved_model().

    Returns:
        A Report.

    Raises:
        FileNotFoundError: `source` does not exist or has no saved_model.pb.
        FileExistsError: `target` exists.
        ValueError: The model in `source` cannot be read, `target` is inside of `source`, or `verify_inputs`
            does not fit. After an error there is no target.
    """

    def rewrite(graph_def: Any) -> tuple[Any, Report]:
        return _rewrite.rewrite(graph_def, inference, clear_devices)

    with rewritten(source, target, rewrite) as (unchecked, report):
        if verify:
            report.compared = _verify.verify_saved_model(source, unchecked, verify_inputs)
    return report


@contextlib.contextmanager
def rewritten(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    rewrite: Callable[[Any], tuple[Any, Report]],
) -> Iterator[tuple[pathlib.Path, Report]]:
    """Writes a SavedModel with other graphs.

    Args:
        source: Folder of the SavedModel.
        target: Folder to write, which must not exist. It is written at the end of the context if nothing
            failed.
        rewrite: A function from a GraphDef to a GraphDef and a Report.

    Yields:
        The folder that becomes `target`, and a Report of all graphs.

    Raises:
        FileNotFoundError: `source` does not exist or has no saved_model.pb.
        FileExistsError: `target` exists.
        ValueError: The model in `source` cannot be read, or `target` is inside of `source`.
    """
    source, target = pathlib.Path(source), pathlib.Path(target)
    if not source.exists():
        raise FileNotFoundError(f"{source} does not exist.")
    if not (source / _GRAPH_FILE).is_file():
        raise FileNotFoundError(f"{source} has no {_GRAPH_FILE}: it is not a SavedModel.")
    if source.resolve() in target.resolve().parents:
        raise ValueError(f"target must be outside of source, {source}, but it is {target}.")
    model = read(source)
    report = Report()
    for meta_graph in model.meta_graphs:
        graph_def, part = rewrite(meta_graph.graph_def)
        meta_graph.graph_def.CopyFrom(graph_def)
        _list_ops(meta_graph)
        report.changed += part.changed
        report.kept += part.kept
    with atomic_write.atomic_write(target) as unchecked:
        shutil.copytree(source, unchecked, ignore=shutil.ignore_patterns(_FINGERPRINT))
        write(unchecked, model)
        yield unchecked, report


def read(folder: pathlib.Path) -> Any:
    """The SavedModel message in a folder. Raises ValueError if there is none."""
    path = folder / _GRAPH_FILE
    try:
        model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    except message.DecodeError as error:
        raise ValueError(f"{path} is not the graph of a SavedModel: {error}") from error
    if not any(meta_graph.graph_def.node for meta_graph in model.meta_graphs):
        raise ValueError(f"{path} must hold the graph of a SavedModel, but it has no nodes.")
    return model


def write(folder: pathlib.Path, model: Any) -> None:
    """Writes a SavedModel message into a folder."""
    (folder / _GRAPH_FILE).write_bytes(model.SerializeToString())


def _list_ops(meta_graph: Any) -> None:
    """Adds the new ops to the model's list of ops."""
    ops = meta_graph.meta_info_def.stripped_op_list.op
    listed = {op.name for op in ops}
    used = {node.op for node in _nodes.all_nodes(meta_graph.graph_def)}
    for name in sorted(used - listed):
        op_def = registries.op_def(name)
        if op_def is not None:
            ops.add().CopyFrom(op_def)
