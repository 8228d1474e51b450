// Ops that pack weights for inference, and ops that read packed weights.
#include "cc/core/op/op_spec.h"
#include "cc/tf/op_util.h"
#include "cc/tf/ops/shape_functions.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace rnn_ops::tf_kernels {
namespace {

using ::tensorflow::shape_inference::InferenceContext;

absl::Status PackCudnnRnnParamsShape(InferenceContext* c) {
  RnnConfig config;
  RNN_OPS_TF_RETURN_IF_ERROR(ReadPackAttrs(c, &config));
  RNN_OPS_TF_RETURN_IF_ERROR(CheckParamsShape(config, FromTf(c, c->input(0))));
  c->set_output(0, c->Vector(InferenceContext::kUnknownDim));
  return absl::OkStatus();
}

REGISTER_OP("TfRnnOps>PackCudnnRNNParams")
    .Input("params: T")
    .Output("packed: uint8")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("num_layers: int")
    .Attr("num_units: int")
    .Attr("input_size: int")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("num_proj: int = 0")
    .Attr("keep: bool = false")
    .SetShapeFn(PackCudnnRnnParamsShape)
    .Doc(R"doc(
Packs the parameters of CudnnRNNV3 into the layout of the CPU kernels, for CudnnRNNV3Packed.

CudnnRNNV3 packs its parameters at every call. The result is a vector of bytes: a header, which
identifies the network and the kernels, and the weights. Its content differs between kinds of CPU
and between versions of this library.

Raises InvalidArgument for params whose size does not fit the network and for attributes that
CudnnRNNV3 rejects. The error is raised when the graph is built if the shapes are known then.

params: The opaque buffer, a vector.
packed: A vector; empty on a GPU, where nothing is packed.
num_layers: L, at least 1.
num_units: H, at least 1.
input_size: I, at least 1.
rnn_mode: As in CudnnRNNV3, like the attributes below up to num_proj.
input_mode: As in CudnnRNNV3.
direction: As in CudnnRNNV3.
num_proj: As in CudnnRNNV3.
keep: Whether to keep the result and params in this process, and to return the result again for the
  same tensor. Use it only for the value of a resource variable and for a constant, whose memory
  does not change while a tensor refers to it. The kept data is freed by the next packing with keep
  after params has been released.
)doc");

REGISTER_OP("TfRnnOps>PackLayerRNN")
    .Input("kernel: T")
    .Input("recurrent_kernel: T")
    .Input("bias: T")
    .Input("projection: T")
    .Output("packed: uint8")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr(LayerModeAttr())
    .Attr("keep: bool = false")
    .SetShapeFn(RnnShape<kPackLayerRnn>)
    .Doc(R"doc(
Packs the weights of LayerRNN into the layout of the CPU kernels, for LayerRNNPacked.

LayerRNN packs its weights at every call. The result is a vector of bytes: a header, which
identifies the layer and the kernels, and the weights. Its content differs between kinds of CPU and
between versions of this library.

Raises InvalidArgument for weights that LayerRNN rejects. The error is raised when the graph is
built if the shapes are known then.

kernel: [I, G*H].
recurrent_kernel: [S, G*H].
bias: [G*H], for gru [2, G*H], or [0] without a bias.
projection: [H, P], for lstm only; [0] without a projection.
packed: A vector.
rnn_mode: As in LayerRNN.
keep: Whether to keep the result and the weights in this process, and to return the result again for
  the same tensors. Use it only for the values of resource variables and for constants, whose memory
  does not change while a tensor refers to it. The kept data is freed by the next packing with keep
  after one of the weights has been released.
)doc");

REGISTER_OP("TfRnnOps>CudnnRNNV3Packed")
    .Input("input: T")
    .Input("input_h: T")
    .Input("input_c: T")
    .Input("params: T")
    .Input("sequence_lengths: int32")
    .Input("packed: uint8")
    .Output("output: T")
    .Output("output_h: T")
    .Output("output_c: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("num_proj: int = 0")
    .Attr("time_major: bool = true")
    .SetShapeFn(RnnShape<kCudnnRnnV3Packed>)
    .Doc(R"doc(
Inference of CudnnRNNV3 with packed parameters.

The results are those of CudnnRNNV3 with is_training=False. They are bit-identical, except for calls
with T*B <= 4, which CudnnRNNV3 sums in another order. Letters are as in CudnnRNNV3. If `packed` is
empty, or was made by another kind of CPU or another version of this library, the op reads params
and packs them for the call. On a GPU it always reads params. The op does not check that `packed`
was made from these params.

Raises InvalidArgument for inputs that CudnnRNNV3 rejects, and for a `packed` that belongs to
another network, is truncated, or is not a packed buffer.

input: [T, B, I], of type T.
input_h: Initial hidden states, [L*D, B, S].
input_c: Initial cell states, [L*D, B, H] for rnn_mode 'lstm'. Ignored otherwise: any shape.
params: The opaque buffer.
sequence_lengths: [B], each in [0, T].
packed: The output of PackCudnnRNNParams for params and these attributes; [0] if there is none.
output: [T, B, D*S].
output_h: Final hidden states, [L*D, B, S].
output_c: Final cell states, [L*D, B, H] for rnn_mode 'lstm'; otherwise a scalar 0.
rnn_mode: As in CudnnRNNV3, like every other attribute.
input_mode: As in CudnnRNNV3.
direction: As in CudnnRNNV3.
num_proj: As in CudnnRNNV3.
time_major: As in CudnnRNNV3.
)doc");

REGISTER_OP("TfRnnOps>LayerRNNPacked")
    .Input("input: T")
    .Input("input_h: T")
    .Input("input_c: T")
    .Input("kernel: T")
    .Input("recurrent_kernel: T")
    .Input("bias: T")
    .Input("projection: T")
    .Input("peepholes: T")
    .Input("layer_norm: T")
    .Input("sequence_lengths: int32")
    .Input("packed: uint8")
    .Output("output: T")
    .Output("output_h: T")
    .Output("output_c: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr(LayerModeAttr())
    .Attr(RNN_OPS_ACTIVATION_ATTR("activation", "tanh"))
    .Attr(RNN_OPS_ACTIVATION_ATTR("recurrent_activation", "sigmoid"))
    .Attr("cell_clip: float = 0.0")
    .Attr("proj_clip: float = 0.0")
    .Attr("zoneout_h: float = 0.0")
    .Attr("zoneout_c: float = 0.0")
    .Attr("layer_norm_epsilon: float = 0.001")
    .Attr("time_major: bool = true")
    .SetShapeFn(RnnShape<kLayerRnnPacked>)
    .Doc(R"doc(
Inference of LayerRNN, without masks, with packed weights.

The results are those of LayerRNN with is_training=False. They are bit-identical, except for calls
with T*B <= 4, which LayerRNN sums in another order. Letters are as in LayerRNN. If `packed` is
empty, or was made by another kind of CPU or another version of this library, the op reads the
unpacked weights and packs them for the call. The op does not check that `packed` was made from
these weights.

Raises InvalidArgument for inputs that LayerRNN rejects, and for a `packed` that belongs to another
layer, is truncated, or is not a packed buffer.

input: [T, B, I], of type T.
input_h: Initial hidden states, [B, S].
input_c: Initial cell states, [B, H]; ignored, with any shape, unless rnn_mode is lstm.
kernel: [I, G*H].
recurrent_kernel: [S, G*H].
bias: [G*H], for gru [2, G*H], or [0] without a bias.
projection: [H, P], for lstm only; [0] without a projection.
peepholes: [3, H], for lstm only; [0] without peepholes. Never packed.
layer_norm: [18, H], for lstm only; [0] without normalization. Never packed.
sequence_lengths: Steps of each sequence, [B], each in [0, T]; [0] if all have T steps.
packed: The output of PackLayerRNN for these weights; [0] if there is none.
output: Every h', [T, B, S]; 0 beyond the length of a sequence.
output_h: The h' of the last step of each sequence, [B, S]; input_h for a length of 0.
output_c: The c' of the last step of each sequence, [B, H]; a scalar 0 unless rnn_mode is lstm.
rnn_mode: As in LayerRNN, like every other attribute.
activation: As in LayerRNN.
recurrent_activation: As in LayerRNN.
cell_clip: As in LayerRNN.
proj_clip: As in LayerRNN.
zoneout_h: As in LayerRNN.
zoneout_c: As in LayerRNN.
layer_norm_epsilon: As in LayerRNN.
time_major: As in LayerRNN.
)doc");

}  // namespace
}  // namespace rnn_ops::tf_kernels
