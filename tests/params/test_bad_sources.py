"""An object that is not a source of weights raises TypeError with the valid sources."""

import numpy as np
import pytest

from tf_rnn_ops import params

CONVERTERS = {
    params.from_keras: "source must be Keras layers, a sequential model or a list of weights",
    params.from_cudnn_layer: "source must be CuDNNLSTM or CuDNNGRU layers, a sequential model or a list",
    params.from_onnx: "source must be a model, as onnx.load returns it, or OnnxNodes",
    params.from_torch: "source must be a module of PyTorch or its state_dict",
}


@pytest.mark.parametrize("source", [5, None, "model.file"])
@pytest.mark.parametrize("convert", CONVERTERS)
def test_other_objects(convert, source):
    with pytest.raises(TypeError) as error:
        convert(source)
    text = str(error.value)
    assert text.startswith(CONVERTERS[convert])
    assert text.endswith(f", but it is of type {type(source).__name__}.")


def test_a_list_of_other_objects_for_onnx():
    node = params.OnnxNode("RNN", W=np.ones([1, 3, 2]), R=np.ones([1, 3, 3]))
    assert params.from_onnx([node]).params.size == 21
    with pytest.raises(TypeError, match="or OnnxNodes, but it is of type int"):
        params.from_onnx([node, 5])
