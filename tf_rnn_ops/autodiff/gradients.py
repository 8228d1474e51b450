"""Registers the gradients of the forward ops with TensorFlow."""

import contextlib
from typing import Any, Mapping, NoReturn

import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.autodiff.ops import attributes, gradient_of, inputs_of, outputs_of
from tf_rnn_ops.native.tf_internals import registries
from tf_rnn_ops.plain.names import NO_GRADIENT_OF_INT8
from tf_rnn_ops.raw_ops.table import (
    LAYER_ATTRS,
    MAJOR_ATTR,
    PREFIX,
    RANDOM_ATTRS,
    RESULTS,
    STACK_ATTRS,
    signature,
)

# A reserve space consists of bytes. Read as numbers, some are NaN or infinite, mostly in 16-bit types.
registries.leave_out_of_check_numerics(
    (f"{PREFIX}{op}", 3) for op in ("CudnnRNNV3", "StatelessCudnnRNNV3", "LayerRNN")
)


def _or_zeros(gradient: tf.Tensor | None, output: tf.Tensor) -> tf.Tensor:
    """TensorFlow fills in missing gradients in most of its paths, but not in all."""
    return tf.zeros_like(output) if gradient is None else gradient


@gradient_of(f"{PREFIX}CudnnRNNV3")
def _cudnn_rnn_v3_gradient(op: tf.Operation, *gradients: Any) -> Any:
    """Gradients for input, input_h, input_c and params."""
    if not op.get_attr("is_training"):
        return _cudnn_inference_gradient(op, *gradients)
    random = attributes(op, RANDOM_ATTRS)
    return _backprop(op, "CudnnRNNBackpropV3", gradients, STACK_ATTRS, outputs_of(op), random)


@gradient_of(f"{PREFIX}StatelessCudnnRNNV3")
def _stateless_cudnn_rnn_v3_gradient(op: tf.Operation, *gradients: Any) -> Any:
    """As for CudnnRNNV3 in training. No gradient for the seed; reserve_space has its masks."""
    random = attributes(op, {"dropout": 0.0})
    return _backprop(op, "CudnnRNNBackpropV3", gradients, STACK_ATTRS, outputs_of(op), random)


@gradient_of(f"{PREFIX}CudnnRNNV3Packed")
def _cudnn_inference_gradient(op: tf.Operation, *gradients: Any) -> Any:
    """Runs the op again in training, since inference has no reserve space. There is no dropout."""
    outputs = _forward(op, "CudnnRNNV3", STACK_ATTRS, RANDOM_ATTRS)
    return _backprop(op, "CudnnRNNBackpropV3", gradients, STACK_ATTRS, outputs, RANDOM_ATTRS)


@gradient_of(f"{PREFIX}LayerRNN")
def _layer_rnn_gradient(op: tf.Operation, *gradients: Any) -> Any:
    """Gradients for the input, the states and the weights; none for lengths, masks and seed."""
    if not op.get_attr("is_training"):
        return _layer_inference_gradient(op, *gradients)
    return _backprop(op, "LayerRNNBackprop", gradients, LAYER_ATTRS, outputs_of(op))


@gradient_of(f"{PREFIX}LayerRNNPacked")
def _layer_inference_gradient(op: tf.Operation, *gradients: Any) -> Any:
    """As for CudnnRNNV3."""
    outputs = _forward(op, "LayerRNN", LAYER_ATTRS)
    return _backprop(op, "LayerRNNBackprop", gradients, LAYER_ATTRS, outputs)


def _forward(
    op: tf.Operation,
    forward: str,
    attrs: Mapping[str, Any],
    random: Mapping[str, Any] | tuple[()] = (),
) -> dict[str, tf.Tensor]:
    """The results of an inference op in training, by name. `forward`: the name of the op with both modes."""
    model = {**attributes(op, {**attrs, **MAJOR_ATTR}), **dict(random)}
    return getattr(raw_ops, forward)(**_shared(op, forward), **model, is_training=True)._asdict()


def _shared(op: tf.Operation, other: str) -> dict[str, tf.Tensor]:
    """The inputs that an op has in common with another op."""
    names = signature(other).inputs
    return {name: tensor for name, tensor in inputs_of(op).items() if name in names}


def _backprop(
    op: tf.Operation,
    backprop: str,
    gradients: Any,
    attrs: Mapping[str, Any],
    outputs: dict[str, tf.Tensor],
    random: Mapping[str, Any] | tuple[()] = (),
) -> list[tf.Tensor | None]:
    """The gradients of an op for its inputs, from its gradient op.

    Args:
        op: The op.
        backprop: The name of the gradient op.
        gradients: The gradients of the outputs of `op`.
        attrs: The attributes that determine the function of the op.
        outputs: The results of the op in training, by name.
        random: The attributes of dropout.
    """
    inputs, model = _shared(op, backprop), attributes(op, {**attrs, **MAJOR_ATTR})
    upstream = {
        f"{name}_backprop": _or_zeros(gradient, outputs[name])
        for name, gradient in zip(RESULTS, gradients)
    }
    tensors = {**inputs, **outputs, **upstream, **model, **dict(random)}
    result = getattr(raw_ops, backprop)(**tensors)
    if model["rnn_mode"] != "lstm":
        # Without a cell state input_c may have any shape. Its gradient must have the shape of input_c.
        result = result._replace(input_c_backprop=tf.zeros_like(inputs["input_c"]))
    return [*result, *[None] * (len(op.inputs) - len(result))]  # inputs without gradients come last


@gradient_of(f"{PREFIX}QuantizedLayerRNN")
def _no_gradient_of_int8(op: tf.Operation, *gradients: Any) -> NoReturn:
    raise LookupError(NO_GRADIENT_OF_INT8)


for _op in ("PackCudnnRNNParams", "PackLayerRNN", "PackQuantizedLayerRNN"):
    with contextlib.suppress(KeyError):  # as in gradient_of
        tf.no_gradient(f"{PREFIX}{_op}")


@gradient_of(f"{PREFIX}BlockLSTMV2")
def _block_lstm_v2_gradient(op: tf.Operation, *gradients: Any) -> Any:
    """Gradients for every input except seq_len_max, from the gradients of cs and h, as in TensorFlow."""
    outputs = outputs_of(op)
    upstream = dict(zip(outputs, gradients))
    result = raw_ops.BlockLSTMGradV2(
        **inputs_of(op),
        **outputs,
        cs_grad=_or_zeros(upstream["cs"], outputs["cs"]),
        h_grad=_or_zeros(upstream["h"], outputs["h"]),
        use_peephole=op.get_attr("use_peephole"),
    )
    return (None, *result)


# The params contain each canonical number once, so each of these two ops is the gradient of the other.


@gradient_of(f"{PREFIX}CudnnRNNCanonicalToParamsV2")
def _canonical_to_params_gradient(op: tf.Operation, gradient: tf.Tensor | None) -> Any:
    """Gradients for the weights and biases, in the shapes of the inputs."""
    sizes, canonical = op.inputs[:3], op.inputs[3:]
    parts = raw_ops.CudnnRNNParamsToCanonicalV2(
        **_params_attributes(op, sizes),
        params=gradient,
        num_params_weights=op.get_attr("num_params_weights"),
        num_params_biases=op.get_attr("num_params_biases"),
    )
    gradients = zip((*parts.weights, *parts.biases), canonical, strict=True)
    return (None, None, None, *(tf.reshape(part, tf.shape(tensor)) for part, tensor in gradients))


@gradient_of(f"{PREFIX}CudnnRNNParamsToCanonicalV2")
def _params_to_canonical_gradient(op: tf.Operation, *gradients: Any) -> Any:
    """The gradient for params. It is zero for an output without a gradient."""
    parts = [_or_zeros(*pair) for pair in zip(gradients, op.outputs, strict=True)]
    weights = op.get_attr("num_params_weights")
    params = raw_ops.CudnnRNNCanonicalToParamsV2(
        **_params_attributes(op, op.inputs[:3]), weights=parts[:weights], biases=parts[weights:]
    )
    return (None, None, None, params)


def _params_attributes(op: tf.Operation, sizes: Any) -> dict[str, Any]:
    return attributes(op, STACK_ATTRS) | dict(
        zip(("num_layers", "num_units", "input_size"), sizes, strict=True)
    )
