"""The libraries that are compared.

A module has `make(variant, threads)`, which returns an object with `version`,
`prepare(problem, x, dy, weights, training)`, `run()` (one forward pass, or one forward and backward
pass to the gradients of x and of all weights, finished when it returns) and `result()`: "y"
[T, B, D*H] and, in training, "dx" [T, B, I]. A problem that the library cannot run raises Unsupported. The
object may have `own_memory(problem, training)`: {name: bytes that the library itself allocates for a
call}. Only an object whose `int8` is true gets problems of type int8.
"""

# {name of the library in tables: module:variant, and @type if the library runs problems of narrower types in
# that type}.
ALL = {
    "tf_rnn_ops": "ours:stack",
    "tf_rnn_ops float32": "ours:stack@float32",
    "tf_rnn_ops packed": "ours:packed",
    "tf_rnn_ops packed float32": "ours:packed@float32",
    "tf_rnn_ops packed bfloat16": "ours:packed@bfloat16",
    "tf_rnn_ops jit": "ours:jit",
    "tf_rnn_ops Keras": "keras_layers:ours",
    "tf_rnn_ops Keras jit": "keras_layers:ours-jit",
    "tf_rnn_ops SavedModel": "saved_model:",
    "tf_rnn_ops SavedModel float32": "saved_model:@float32",
    "tf_rnn_ops BlockLSTM": "ours:block",
    "TF BlockLSTMV2": "ours:tensorflow",
    "Keras": "keras_layers:plain",
    "Keras jit": "keras_layers:jit",
    "PyTorch": "torch_nn:",
    "PyTorch float32": "torch_nn:@float32",
    "ONNX Runtime": "onnx_runtime:",
    "ONNX Runtime float32": "onnx_runtime:@float32",
    "OpenVINO": "openvino_runtime:",
    "oneDNN": "onednn:",
    "oneDNN float32": "onednn:@float32",
    "oneDNN bfloat16": "onednn:@bfloat16",
}


class Unsupported(Exception):
    """The library cannot run the problem."""
