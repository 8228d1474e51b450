// Packing the weights of inference, and the ops that take them packed.
#include "cc/core/network/op_spec.h"
#include "cc/tf/op_util.h"
#include "cc/tf/ops/layer_rnn_attrs.h"
#include "cc/tf/ops/shape_functions.h"
#include "cc/tf/params_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace rnn_ops {
namespace tf_kernels {
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
Packs the parameters of CudnnRNNV3 as the CPU kernels read them, for CudnnRNNV3Packed.

CudnnRNNV3 does so at every call. The result is a vector of bytes: a header, which says of which
network and for which kernels it is, and the weights. Its content differs between kinds of CPU and
between versions of this library.

Raises InvalidArgument, when the graph is built where shapes are known then, for params of another
size than the network has and for attributes that CudnnRNNV3 refuses.

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
  same tensor. Only for the value of a resource variable and for a constant, whose memory does not
  change while a tensor refers to it. They are dropped at the first packing with keep after nothing
  else refers to params.
)doc");

REGISTER_OP("TfRnnOps>PackLayerRNN")
    .Input("kernel: T")
    .Input("recurrent_kernel: T")
    .Input("bias: T")
    .Input("projection: T")
    .Output("packed: uint8")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr(RNN_OPS_LAYER_MODE_ATTR)
    .Attr("keep: bool = false")
    .SetShapeFn(RnnShape<kPackLayerRnn>)
    .Doc(R"doc(
Packs the weights of LayerRNN as the CPU kernels read them, for LayerRNNPacked.

LayerRNN does so at every call. The result is a vector of bytes: a header, which says of which layer
and for which kernels it is, and the weights. Its content differs between kinds of CPU and between
versions of this library.

Raises InvalidArgument, when the graph is built where shapes are known then, for weights that
LayerRNN refuses.

kernel: [I, G*H].
recurrent_kernel: [S, G*H].
bias: [G*H], for gru [2, G*H], or [0] for none.
projection: [H, P], of lstm; [0] for none.
packed: A vector.
rnn_mode: As in LayerRNN.
keep: Whether to keep the result and the weights in this process, and to return the result again for
  the same tensors. Only for the values of resource variables and for constants, whose memory does
  not change while a tensor refers to it. They are dropped at the first packing with keep after
  nothing else refers to one of the weights.
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
Inference of CudnnRNNV3 with parameters that were packed before.

Computes what CudnnRNNV3 does with is_training=False, to the bit but for calls of at most 4 rows
(T*B), which CudnnRNNV3 sums in another order. Letters as there. Where `packed` is of another kind
of CPU or another version of this library, or empty, params are read instead and packed for the
call; on a GPU always. That `packed` was made of these params is not checked.

Raises InvalidArgument for all that CudnnRNNV3 refuses, and for a `packed` of another network, a
truncated one, and any other bytes.

input: [T, B, I], of type T.
input_h: Initial hidden states, [L*D, B, S].
input_c: Initial cell states, [L*D, B, H] for rnn_mode 'lstm'. Ignored otherwise: any shape.
params: The opaque buffer.
sequence_lengths: [B], each in [0, T].
packed: What PackCudnnRNNParams returned for params and these attributes; [0] for none.
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
    .Attr(RNN_OPS_LAYER_MODE_ATTR)
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
Inference of LayerRNN, without masks, with weights that were packed before.

Computes what LayerRNN does with is_training=False, to the bit but for calls of at most 4 rows
(T*B), which LayerRNN sums in another order. Letters as there. Where `packed` is of another kind of
CPU or another version of this library, or empty, the plain weights are read instead and packed for
the call. That `packed` was made of these weights is not checked.

Raises InvalidArgument for all that LayerRNN refuses, and for a `packed` of another layer, a
truncated one, and any other bytes.

input: [T, B, I], of type T.
input_h: Initial hidden states, [B, S].
input_c: Initial cell states, [B, H]; any shape, and ignored, unless rnn_mode is lstm.
kernel: [I, G*H].
recurrent_kernel: [S, G*H].
bias: [G*H], for gru [2, G*H], or [0] for none.
projection: [H, P], of lstm; [0] for none.
peepholes: [3, H], of lstm; [0] for none. They are not packed.
layer_norm: [18, H], of lstm; [0] for none. It is not packed.
sequence_lengths: Steps of each row, [B], each in [0, T]; [0] if all have T.
packed: What PackLayerRNN returned for these weights; [0] for none.
output: Every h', [T, B, S]; 0 beyond the length of a row.
output_h: The h' of the last step of each row, [B, S]; input_h where there is none.
output_c: The same of the cell states, [B, H]; a scalar 0 unless rnn_mode is lstm.
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
}  // namespace tf_kernels
}  // namespace rnn_ops
