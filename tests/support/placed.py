"""Runs a function as a graph in which the ops of this package are on the device and all others on the CPU.

tf.vectorized_map and the tapes of gradients make ops outside of the scope of tf.device() that the calls were
made in, so that a scope cannot place them.
"""

import tensorflow as tf

from support import devices

OURS = "TfRnnOps>"


def nodes(definition):
    """All nodes of a graph, those of loops included."""
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


class Graph:
    """A function of tensors, traced for these arguments.

    Args:
        function: The function.
        arguments: Its arguments, a nest of tensors.
    """

    def __init__(self, function, *arguments):
        self._concrete = tf.function(function, autograph=False).get_concrete_function(*arguments)
        self._definition = self._concrete.graph.as_graph_def()
        self._arguments = tf.nest.flatten(arguments)
        self.types = []
        for node in nodes(self._definition):
            ours = node.op.startswith(OURS)
            node.device = f"/device:{devices.NAME}" if ours else "/device:CPU:0"
            self.types.append(node.op)

    @property
    def has_loop(self):
        return not {"While", "StatelessWhile"}.isdisjoint(self.types)

    def run(self):
        """The results for the arguments, as arrays. WHY a session: an eager context keeps its functions' devices."""
        concrete = self._concrete
        given = [*self._arguments, *concrete.captured_inputs]
        assert len(given) == len(concrete.inputs)
        names = [tensor.name for tensor in concrete.inputs]
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            outputs = tf.graph_util.import_graph_def(
                self._definition,
                return_elements=[tensor.name for tensor in concrete.outputs],
                name="",
            )
            feeds = {n: t.numpy() for n, t in zip(names, given)}
            options = tf.compat.v1.RunOptions(output_partition_graphs=True)
            ran = tf.compat.v1.RunMetadata()
            found = session.run(outputs, feeds, options, ran)
        self._check_placement(ran.partition_graphs)
        return tf.nest.pack_sequence_as(concrete.structured_outputs, found)

    def _check_placement(self, partitions):
        ours = [n.device for graph in partitions for n in graph.node if n.op.startswith(OURS)]
        kept = [device for device in ours if not device.endswith(f"device:{devices.NAME}")]
        assert not kept and (ours or self.has_loop), kept
