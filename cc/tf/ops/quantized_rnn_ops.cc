// Ops for int8 weights.
#include "cc/core/op/op_spec.h"
#include "cc/tf/ops/layer_rnn_attrs.h"
#include "cc/tf/ops/shape_functions.h"
#include "tensorflow/core/framework/op.h"

namespace rnn_ops::tf_kernels {
namespace {

REGISTER_OP("TfRnnOps>PackQuantizedLayerRNN")
    .Input("kernel: int8")
    .Input("kernel_scale: float")
    .Input("recurrent_kernel: int8")
    .Input("recurrent_kernel_scale: float")
    .Input("bias: T")
    .Input("projection: int8")
    .Input("projection_scale: float")
    .Output("packed: uint8")
    .Attr("T: {bfloat16, half, float}")
    .Attr(LayerModeAttr())
    .Attr("keep: bool = false")
    .SetShapeFn(RnnShape<kPackQuantizedLayerRnn>)
    .Doc(R"doc(
Packs the weights of QuantizedLayerRNN into the layout of the CPU kernels.

The result is a vector of bytes, as of PackLayerRNN.

Raises InvalidArgument for weights that QuantizedLayerRNN rejects. The error is raised when the
graph is built if the shapes are known then.

kernel: [I, G*H].
kernel_scale: [G*H].
recurrent_kernel: [S, G*H].
recurrent_kernel_scale: [G*H].
bias: [G*H], for gru [2, G*H], or [0] without a bias.
projection: [H, P], for lstm only; [0] without a projection.
projection_scale: [P]; [0] without a projection.
packed: A vector.
rnn_mode: As in LayerRNN.
keep: As in PackLayerRNN.
)doc");

REGISTER_OP("TfRnnOps>QuantizedLayerRNN")
    .Input("input: T")
    .Input("input_h: T")
    .Input("input_c: T")
    .Input("kernel: int8")
    .Input("kernel_scale: float")
    .Input("recurrent_kernel: int8")
    .Input("recurrent_kernel_scale: float")
    .Input("bias: T")
    .Input("projection: int8")
    .Input("projection_scale: float")
    .Input("sequence_lengths: int32")
    .Input("packed: uint8")
    .Output("output: T")
    .Output("output_h: T")
    .Output("output_c: T")
    .Attr("T: {bfloat16, half, float}")
    .Attr(LayerModeAttr())
    .Attr(RNN_OPS_ACTIVATION_ATTR("activation", "tanh"))
    .Attr(RNN_OPS_ACTIVATION_ATTR("recurrent_activation", "sigmoid"))
    .Attr("time_major: bool = true")
    .SetShapeFn(RnnShape<kQuantizedLayerRnn>)
    .Doc(R"doc(
Inference of LayerRNN with int8 weights.

A weight is its integer times the scale of its column. Before a product, each row r of x and of h
(and of what a second product reads: the output before a projection, reset gate times h for
gru_reset_before) is quantized too, q = round(r * (127 / max|r|)), half to even. The products are
exact sums of integers. The gates, c and h are computed in float32. So the result of a row of the
batch depends on no other row, bit for bit. A row with a value that is not finite becomes NaN. A
row of which max|r| is below 1.5e-36 (127 * 2^-126) counts as zeros.

Letters are as in LayerRNN. If `packed` is empty, or was made by another kind of CPU or another
version of this library, the op packs the weights for the call. The op does not check that `packed`
was made from these weights. It has no gradient.

Raises InvalidArgument for inputs that LayerRNN rejects, for matrices with more than 132104 rows,
whose sums might not fit 32 bits, and for a `packed` that belongs to another layer, is truncated, or
is not a packed buffer.

input: [T, B, I], of type T.
input_h: Initial hidden states, [B, S].
input_c: Initial cell states, [B, H]; ignored, with any shape, unless rnn_mode is lstm.
kernel: [I, G*H].
kernel_scale: [G*H].
recurrent_kernel: [S, G*H].
recurrent_kernel_scale: [G*H].
bias: [G*H], for gru [2, G*H], or [0] without a bias.
projection: [H, P], for lstm only; [0] without a projection.
projection_scale: [P]; [0] without a projection.
sequence_lengths: Steps of each sequence, [B], each in [0, T]; [0] if all have T steps.
packed: The output of PackQuantizedLayerRNN for these weights; [0] if there is none.
output: Every h', [T, B, S]; 0 beyond the length of a sequence.
output_h: The h' of the last step of each sequence, [B, S]; input_h for a length of 0.
output_c: The c' of the last step of each sequence, [B, H]; a scalar 0 unless rnn_mode is lstm.
rnn_mode: As in LayerRNN.
activation: As in LayerRNN.
recurrent_activation: As in LayerRNN.
time_major: As in LayerRNN.
)doc");

}  // namespace
}  // namespace rnn_ops::tf_kernels
