"""A call as a model: a graph that a session runs, as a server does."""

import numpy as np
import tensorflow as tf

from support import calls

v1 = tf.compat.v1
# How often a run that has a time limit repeats the call.
REPEATS = 500


class Model:
    """The graph of one call, its inputs, and its outputs after one call and after REPEATS."""

    def __init__(self, ops, call):
        flat, rebuild = calls.flatten(call)
        arrays = [np.asarray(a) for a in flat]
        with tf.Graph().as_default() as graph:
            # Not constants, which a session would compute when it is made.
            inputs = [v1.placeholder(a.dtype, a.shape) for a in arrays]

            def result(number):
                return [number + 1, *tf.nest.flatten(calls.run(ops, call, rebuild(inputs)))]

            once = result(0)
            often = tf.while_loop(
                lambda number, *_: number < REPEATS, lambda number, *_: result(number), once
            )
        self._graph = graph.as_graph_def()
        self._feeds = {tensor.name: array for tensor, array in zip(inputs, arrays)}
        self._once, self._often = ([t.name for t in result[1:]] for result in (once, often))

    def load(self):
        """A session with a graph of its own."""
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(self._graph, name="")
        return v1.Session(graph=graph)

    def run(self, session):
        """The bytes of each tensor of the result."""
        return self._bytes(session.run(self._once, self._feeds))

    def run_limited(self, session, milliseconds):
        """As `run`, of REPEATS calls; tf.errors.DeadlineExceededError where the time is over."""
        options = v1.RunOptions(timeout_in_ms=milliseconds)
        return self._bytes(session.run(self._often, self._feeds, options))

    @staticmethod
    def _bytes(arrays):
        return [np.asarray(a).tobytes() for a in arrays]
