"""The libraries that are compared.

A module has `make(variant, threads)`, which returns an object with `version`,
`prepare(problem, x, dy, weights, training)`, `run()` (one forward pass, or one forward and backward
pass to the gradients of x and of all weights, finished when it returns) and `result()`: "y"
[T, B, D*H] and, in training, "dx" [T, B, I]. A problem that the library cannot run raises Unsupported. The
object may have `own_memory(problem, training)`: {name: bytes that the library itself allocates for a
call}. Only an object whose `int8` is true gets problems of type int8, and `cells` names its cells if these are
not problems.CELLS.

A module for GPUs has `make(variant, threads, device)`. Its objects have `start()`, which is `run()` without the
end of the pass, and `wait()` for the ends of all passes.
"""

from typing import Any, NamedTuple


class Unsupported(Exception):
    """The library cannot run the problem."""


class Peer(NamedTuple):
    """A library in a form.

    Attributes:
        module: The module of benchmarks.peers.
        variant: The form.
        dtype: The type in which the library runs problems of narrower types; "": the type of the problem.
        algorithm: The value of TF_RNN_OPS_GPU_ALGO.
    """

    module: str
    variant: str = ""
    dtype: str = ""
    algorithm: str = ""


# {name of the library in tables: what it is}. Names of this package's forms begin with tf_rnn_ops.
ALL = {
    "tf_rnn_ops": Peer("ours", "stack"),
    "tf_rnn_ops float32": Peer("ours", "stack", "float32"),
    "tf_rnn_ops packed": Peer("ours", "packed"),
    "tf_rnn_ops packed float32": Peer("ours", "packed", "float32"),
    "tf_rnn_ops packed bfloat16": Peer("ours", "packed", "bfloat16"),
    "tf_rnn_ops Keras": Peer("keras_layers", "ours"),
    "tf_rnn_ops BlockLSTM": Peer("ours", "block"),
    "tf_rnn_ops jit": Peer("ours", "jit"),
    "tf_rnn_ops Keras jit": Peer("keras_layers", "ours-jit"),
    "tf_rnn_ops SavedModel": Peer("saved_model"),
    "tf_rnn_ops SavedModel float32": Peer("saved_model", "", "float32"),
    "TF BlockLSTMV2": Peer("ours", "TF-block"),
    "Keras": Peer("keras_layers", "plain"),
    "Keras jit": Peer("keras_layers", "jit"),
    "PyTorch": Peer("torch_nn"),
    "PyTorch float32": Peer("torch_nn", "", "float32"),
    "ONNX Runtime": Peer("onnx_runtime"),
    "ONNX Runtime float32": Peer("onnx_runtime", "", "float32"),
    "OpenVINO": Peer("openvino_runtime"),
    "oneDNN": Peer("onednn"),
    "oneDNN float32": Peer("onednn", "", "float32"),
    "oneDNN bfloat16": Peer("onednn", "", "bfloat16"),
}
CPU = tuple(ALL)
# Layouts and lengths, of CudnnRNNV3 and of LayerRNN.
COSTS = {
    f"{op}{layout}{lengths}": Peer("ours", f"{variant}{layout}{lengths}")
    for op, variant in (("tf_rnn_ops", "stack"), ("tf_rnn_ops LayerRNN", "layer"))
    for layout in ("", " batch major")
    for lengths in ("", " random lengths")
}
# Calls of a few steps that carry the state, each library in the form that is fastest for it.
STEP = {
    "tf_rnn_ops stepper": Peer("steppers", "ours"),
    # The file that export(streaming=True) writes, with IO binding, which copies no state.
    "ONNX Runtime binding": Peer("steppers", "onnx-binding"),
    # IO binding of a file with the one node of the layer; int8 is this file after quantize_dynamic.
    "ONNX Runtime node": Peer("steppers", "onnx-node"),
    # nn.LSTMCell or GRUCell for one step, otherwise nn.LSTM or GRU; int8 is quantize_dynamic.
    "PyTorch step": Peer("steppers", "torch"),
    # The primitive, which carries no state and copies no input.
    "oneDNN step": Peer("steppers", "onednn"),
    # A file with the one node of the LSTM; for the model the file that export writes.
    "LiteRT": Peer("steppers", "litert"),
    # Our raw op with packed weights, called eagerly.
    "tf_rnn_ops op": Peer("steppers", "op"),
}
GPU_LAYERS = {
    f"tf_rnn_ops Keras {name}": Peer("keras_layers", variant, algorithm=name.split()[-1])
    for name, variant in (
        ("cudnn", "ours"),
        ("steps", "ours"),
        ("persistent", "ours"),
        ("jit steps", "ours-jit"),
    )
}
ALL |= COSTS | STEP | GPU_LAYERS | {"TF CudnnRNNV3": Peer("ours", "TF-stack")}

# {name of a file of shapes: the values of arguments that are not given}. Other files have those of "".
DEFAULTS: dict[str, dict[str, Any]] = {
    "": {"peers": CPU},
    "layer_cells": {"peers": ("tf_rnn_ops Keras", "Keras", "Keras jit")},
    "xla": {"peers": ("tf_rnn_ops Keras jit", "Keras jit")},
    "costs": {"peers": tuple(COSTS), "base": "tf_rnn_ops"},
    "step": {
        "peers": tuple(STEP),
        "threads": [1],
        "mode": "inference",
        "clock": "cpu",
        "carried": True,
    },
    "gpu": {
        "device": "GPU:0",
        "peers": (
            "tf_rnn_ops",
            "TF CudnnRNNV3",
            "PyTorch",
            "tf_rnn_ops BlockLSTM",
            "TF BlockLSTMV2",
        ),
    },
    "gpu_layers": {
        "device": "GPU:0",
        "peers": ("Keras", "tf_rnn_ops Keras", *GPU_LAYERS, "tf_rnn_ops Keras jit"),
    },
}


def is_ours(name):
    return name.startswith("tf_rnn_ops")


def in_another_type(name):
    return bool(name in ALL and ALL[name].dtype)
