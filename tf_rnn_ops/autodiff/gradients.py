"""Registers the gradients of the forward ops with TensorFlow."""

import contextlib

import tensorflow as tf

from tf_rnn_ops import raw_ops
from tf_rnn_ops.native.tf_internals import registries

# A reserve space is bytes: read as numbers, some are NaN or infinite, above all in 16-bit types.
registries.leave_out_of_check_numerics(
    (f"TfRnnOps>{op}", 3) for op in ("CudnnRNNV3", "StatelessCudnnRNNV3", "LayerRNN")
)


def _gradient_of(op_type):
    """Registers a function as the gradient of an op, once: a module may be loaded again."""

    def register(function):
        with contextlib.suppress(KeyError):
            tf.RegisterGradient(f"TfRnnOps>{op_type}")(function)
        return function

    return register


def _attribute(op, name):
    value = op.get_attr(name)
    return value.decode() if isinstance(value, bytes) else value


def _or_zeros(gradient, output):
    """TensorFlow fills in missing gradients in most of its paths, but not in all."""
    return tf.zeros_like(output) if gradient is None else gradient


@_gradient_of("CudnnRNNV3")
def _cudnn_rnn_v3_gradient(op, *gradients):
    """Gradients for input, input_h, input_c, params and (none) sequence_lengths."""
    if not op.get_attr("is_training"):
        return _cudnn_inference_gradient(op, op.inputs, gradients)
    random = {name: op.get_attr(name) for name in ("dropout", "seed", "seed2")}
    return _cudnn_backprop(op, op.inputs, op.outputs, random, gradients)


@_gradient_of("StatelessCudnnRNNV3")
def _stateless_cudnn_rnn_v3_gradient(op, *gradients):
    """As that of CudnnRNNV3 in training; none for the seed, whose masks reserve_space has."""
    random = {"dropout": op.get_attr("dropout")}
    return (*_cudnn_backprop(op, op.inputs[:5], op.outputs, random, gradients), None)


@_gradient_of("CudnnRNNV3Packed")
def _cudnn_rnn_v3_packed_gradient(op, *gradients):
    """As that of CudnnRNNV3 in inference; none for `packed`."""
    return (*_cudnn_inference_gradient(op, op.inputs[:5], gradients), None)


def _cudnn_inference_gradient(op, inputs, gradients):
    """Inference keeps nothing for backward, so run it once more. It is without dropout."""
    random = {"dropout": 0.0, "seed": 0, "seed2": 0}
    names = ("input", "input_h", "input_c", "params", "sequence_lengths")
    outputs = raw_ops.CudnnRNNV3(
        **dict(zip(names, inputs, strict=True)), **_cudnn_model(op), **random, is_training=True
    )
    return _cudnn_backprop(op, inputs, outputs, random, gradients)


def _cudnn_backprop(op, inputs, outputs, random, gradients):
    input, input_h, input_c, params, sequence_lengths = inputs
    output, output_h, output_c, reserve_space, host_reserved = outputs
    model = _cudnn_model(op)
    result = raw_ops.CudnnRNNBackpropV3(
        input=input,
        input_h=input_h,
        input_c=input_c,
        params=params,
        sequence_lengths=sequence_lengths,
        output=output,
        output_h=output_h,
        output_c=output_c,
        output_backprop=_or_zeros(gradients[0], output),
        output_h_backprop=_or_zeros(gradients[1], output_h),
        output_c_backprop=_or_zeros(gradients[2], output_c),
        reserve_space=reserve_space,
        host_reserved=host_reserved,
        **model,
        **random,
    )
    # Without a cell state input_c may have any shape, and its gradient must have the same.
    has_c = model["rnn_mode"] == "lstm"
    input_c_backprop = result.input_c_backprop if has_c else tf.zeros_like(input_c)
    return (
        result.input_backprop,
        result.input_h_backprop,
        input_c_backprop,
        result.params_backprop,
        None,
    )


def _cudnn_model(op):
    names = ("rnn_mode", "input_mode", "direction", "num_proj", "time_major")
    return {name: _attribute(op, name) for name in names}


_LAYER_INPUTS = (
    *("input", "input_h", "input_c"),
    *("kernel", "recurrent_kernel", "bias", "projection", "peepholes", "layer_norm"),
    "sequence_lengths",
)


@_gradient_of("LayerRNN")
def _layer_rnn_gradient(op, *gradients):
    """Gradients for the input, the states and the weights; none for lengths, masks and seed."""
    names = (*_LAYER_INPUTS, "input_mask", "recurrent_mask", "seed")
    inputs = dict(zip(names, op.inputs, strict=True))
    model = _layer_model(op)
    outputs = op.outputs
    if not op.get_attr("is_training"):
        # As for CudnnRNNV3.
        outputs = raw_ops.LayerRNN(**inputs, **model, is_training=True)
    return _layer_backprop(inputs, model, outputs, gradients)


@_gradient_of("LayerRNNPacked")
def _layer_rnn_packed_gradient(op, *gradients):
    """As that of LayerRNN in inference; none for `packed`."""
    inputs = dict(zip(_LAYER_INPUTS, op.inputs[:-1], strict=True))
    model = _layer_model(op)
    outputs = raw_ops.LayerRNN(**inputs, **model, is_training=True)
    inputs |= {
        name: tf.zeros([0], inputs["input"].dtype) for name in ("input_mask", "recurrent_mask")
    }
    return (*_layer_backprop(inputs, model, outputs, gradients)[: len(_LAYER_INPUTS)], None)


def _layer_model(op):
    names = ("rnn_mode", "activation", "recurrent_activation", "cell_clip", "proj_clip")
    names += ("zoneout_h", "zoneout_c", "layer_norm_epsilon", "time_major")
    return {name: _attribute(op, name) for name in names}


def _layer_backprop(inputs, model, outputs, gradients):
    output, output_h, output_c, reserve_space = outputs
    result = raw_ops.LayerRNNBackprop(
        **inputs,
        output=output,
        output_h=output_h,
        output_c=output_c,
        output_backprop=_or_zeros(gradients[0], output),
        output_h_backprop=_or_zeros(gradients[1], output_h),
        output_c_backprop=_or_zeros(gradients[2], output_c),
        reserve_space=reserve_space,
        **model,
    )
    has_c = model["rnn_mode"] == "lstm"
    input_c_backprop = result.input_c_backprop if has_c else tf.zeros_like(inputs["input_c"])
    return (*result._replace(input_c_backprop=input_c_backprop), None, None, None, None)


for _op in ("PackCudnnRNNParams", "PackLayerRNN"):
    with contextlib.suppress(KeyError):  # as in _gradient_of
        tf.no_gradient(f"TfRnnOps>{_op}")


@_gradient_of("BlockLSTMV2")
def _block_lstm_v2_gradient(op, *gradients):
    """Gradients for every input but seq_len_max, from those of cs and h as in TensorFlow."""
    seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b = op.inputs
    i, cs, f, o, ci, co, h = op.outputs
    result = raw_ops.BlockLSTMGradV2(
        seq_len_max=seq_len_max,
        x=x,
        cs_prev=cs_prev,
        h_prev=h_prev,
        w=w,
        wci=wci,
        wcf=wcf,
        wco=wco,
        b=b,
        i=i,
        cs=cs,
        f=f,
        o=o,
        ci=ci,
        co=co,
        h=h,
        cs_grad=_or_zeros(gradients[1], cs),
        h_grad=_or_zeros(gradients[6], h),
        use_peephole=op.get_attr("use_peephole"),
    )
    return (None, *result)


# The params have each canonical number once, so each of these ops takes the other's gradient back.


@_gradient_of("CudnnRNNCanonicalToParamsV2")
def _canonical_to_params_gradient(op, gradient):
    """Gradients for the weights and biases, in the shapes in which they were given."""
    sizes, canonical = op.inputs[:3], op.inputs[3:]
    parts = raw_ops.CudnnRNNParamsToCanonicalV2(
        **_params_attributes(op, sizes),
        params=gradient,
        num_params_weights=op.get_attr("num_params_weights"),
        num_params_biases=op.get_attr("num_params_biases"),
    )
    gradients = zip((*parts.weights, *parts.biases), canonical, strict=True)
    return (None, None, None, *(tf.reshape(part, tf.shape(given)) for part, given in gradients))


@_gradient_of("CudnnRNNParamsToCanonicalV2")
def _params_to_canonical_gradient(op, *gradients):
    """The gradient for params; zeros where nothing depends on a part."""
    parts = [_or_zeros(*pair) for pair in zip(gradients, op.outputs, strict=True)]
    weights = op.get_attr("num_params_weights")
    params = raw_ops.CudnnRNNCanonicalToParamsV2(
        **_params_attributes(op, op.inputs[:3]), weights=parts[:weights], biases=parts[weights:]
    )
    return (None, None, None, params)


def _params_attributes(op, sizes):
    names = ("rnn_mode", "input_mode", "direction", "num_proj")
    attributes = {name: _attribute(op, name) for name in names}
    return attributes | dict(zip(("num_layers", "num_units", "input_size"), sizes, strict=True))
