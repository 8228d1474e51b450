"""Makes every call of tf2onnx write our ops and TensorFlow's recurrent ops."""

from typing import Any, Callable

from tf_rnn_ops._python import patches


def register() -> None:
    """Registers the handlers, and prepares each graph before tf2onnx reads it.

    WHY graphs_from_tf: every function of tf2onnx's API calls it, by its name in tfonnx. Its result still
    has the nodes of TensorFlow. A second call of register() changes nothing.
    """
    from tf2onnx import tfonnx

    from tf_rnn_ops._formats.onnx import handlers  # noqa: F401

    patches.wrap(tfonnx, "graphs_from_tf", _prepared)


def _prepared(original: Callable) -> Callable:
    def graphs_from_tf(
        tf_graph: Any,
        input_names: list[str],
        output_names: list[str],
        *arguments: Any,
        **keywords: Any,
    ) -> Any:
        import tensorflow as tf

        from tf_rnn_ops._formats.onnx import preparing, simplifying

        graph_def = tf_graph.as_graph_def()
        if not preparing.is_needed(graph_def):
            return original(tf_graph, input_names, output_names, *arguments, **keywords)
        graph_def, _ = preparing.prepare(graph_def, input_names, output_names)
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
        main, functions = original(graph, input_names, output_names, *arguments, **keywords)
        for one in (main, *functions):
            simplifying.simplify(one)
        return main, functions

    return graphs_from_tf
