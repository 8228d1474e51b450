// LayerRNN and its gradient, with float and with int8 weights.

#include "cc/core/op/op_spec.h"
#include "cc/tf/ops/shape_functions.h"
#include "tensorflow/core/framework/op.h"

namespace rnn_ops::tf_kernels {
namespace {

// LayerRNN and its gradient: one layer and one direction, with weights in Keras's layout.

REGISTER_OP("TfRnnOps>LayerRNN")
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
    .Input("input_mask: T")
    .Input("recurrent_mask: T")
    .Input("seed: int64")
    .Output("output: T")
    .Output("output_h: T")
    .Output("output_c: T")
    .Output("reserve_space: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr(LayerModeAttr())
    .Attr(RNN_OPS_ACTIVATION_ATTR("activation", "tanh"))
    .Attr(RNN_OPS_ACTIVATION_ATTR("recurrent_activation", "sigmoid"))
    .Attr("cell_clip: float = 0.0")
    .Attr("proj_clip: float = 0.0")
    .Attr("zoneout_h: float = 0.0")
    .Attr("zoneout_c: float = 0.0")
    .Attr("layer_norm_epsilon: float = 0.001")
    .Attr("is_training: bool = true")
    .Attr("time_major: bool = true")
    .SetShapeFn(RnnShape<kLayerRnn>)
    .Doc(R"doc(
Runs one recurrent layer in one direction over a batch of sequences, with weights in Keras's layout.

The letters are T time steps, B batch, I input size, H units, P columns of projection, S the size of
h (P with projection, otherwise H), G gates (LSTM 4, GRU 3, otherwise 1).
With time_major=False every [T, B, ...] is [B, T, ...].

One step, with s the recurrent_activation, a the activation, * element by element, x the input and h
the previous output. For gate g, x_g = x * input_mask[g] and h_g = h * recurrent_mask[g]; without a
mask x_g is x and h_g is h. W_g, R_g and b_g are the g-th of G blocks of H columns of kernel,
recurrent_kernel and bias:

  rnn                  h' = a(x_0 W + h_0 R + b)
  rnn_relu, rnn_tanh   h' = relu or tanh(x_0 W + h_0 R + b)
  lstm (i, f, c, o)    i, f, o = s(x_g W_g + h_g R_g + b_g)  for g = i, f, o
                       c' = f * c + i * a(x_c W_c + h_c R_c + b_c);  h' = o * a(c')
    with peepholes     p_0 * c, p_1 * c and p_2 * c' are added before s of i, f and o
    with cell_clip     c' is clipped to [-cell_clip, cell_clip]
    with projection    h' = (o * a(c')) projection, clipped to [-proj_clip, proj_clip]
    with layer_norm    x_g W_g, h_g R_g and c' are normalized, the first two over all gates at once
  gru (z, r, n)        z, r = s(x_g W_g + bias[0]_g + h_g R_g + bias[1]_g)  for g = z, r
                       n = a(x_n W_n + bias[0]_n + r * (h_n R_n + bias[1]_n))
                       h' = z * h + (1 - z) * n
  lstm and gru with zoneout, without a seed
                       the new h is zoneout_h * h + (1 - zoneout_h) * h',
                       the new c is zoneout_c * c + (1 - zoneout_c) * c'
    with a seed        each unit of h keeps its old value with the probability zoneout_h,
                       and each unit of c with the probability zoneout_c
  gru_reset_before     z, r = s(x_g W_g + h_g R_g + b_g)  for g = z, r
    (z, r, n)          n = a(x_n W_n + (r * h_n) R_n + b_n);  h' = z * h + (1 - z) * n

The normalization of v is gamma * (v - mean) / sqrt(variance + layer_norm_epsilon) + beta, with the
mean and the variance of the values of one sequence at one step. The rows of layer_norm are gamma
and beta of x_g W_g for g = i, f, c, o (4 + 4), gamma and beta of h_g R_g (4 + 4), and gamma and
beta of c' (1 + 1). The new cell state is the normalized c'.

The activations are tanh, sigmoid (the logistic function), relu, linear, hard_sigmoid and
hard_sigmoid_keras2. hard_sigmoid is x / 6 + 1/2 between 0 and 1, as in Keras 3.
hard_sigmoid_keras2 is x / 5 + 1/2 between 0 and 1, as in Keras 1 and 2.

Source of the maths: Hochreiter and Schmidhuber (1997) with Gers et al. (2000) for LSTM, Cho et al.
(2014) for GRU, Krueger et al. (2017) for zoneout, Gers and Schmidhuber (2000) for peepholes, Sak et
al. (2014) for the projection, Ba et al. (2016) for layer_norm, Gal and Ghahramani (2016) for masks
of inputs and states that do not change over time.

lstm with projection and peepholes is tf.compat.v1.nn.rnn_cell.LSTMCell, which adds forget_bias to
the bias of f and has the gates in the order i, c, f, o. lstm with layer_norm is LayerNormLSTMCell
of TensorFlow Addons. gru applies the reset gate after the recurrent product, and gru_reset_before
before the product, like the paper. The order of the gates is that of keras.layers.

Arithmetic is in float32 for bfloat16 and half, otherwise in T.

Raises InvalidArgument for a tensor whose rank or size differs from the shapes below, for a sequence
length outside [0, T], I or H of 0, and sizes beyond 2^62 bytes. Raises InvalidArgument also for
activations, clipping, zoneout, a projection, peepholes or layer_norm in a mode without them, and if
zoneout or layer_norm excludes them. The error is raised when the graph is built if the shapes are
known then.

input: [T, B, I], of type T.
input_h: Initial hidden states, [B, S].
input_c: Initial cell states, [B, H]; ignored, with any shape, unless rnn_mode is lstm.
kernel: [I, G*H].
recurrent_kernel: [S, G*H].
bias: [G*H], for gru [2, G*H], or [0] without a bias.
projection: [H, P], for lstm only; [0] without a projection.
peepholes: p above, [3, H], for lstm only; [0] without peepholes.
layer_norm: Gammas and betas above, [18, H], for lstm only; [0] without normalization. Excludes a
  projection, peepholes, cell_clip and zoneout.
sequence_lengths: Steps of each sequence, [B], each in [0, T]; [0] if all have T steps.
input_mask: Factors of the input for each gate, [G, B, I]; [0] without a mask.
recurrent_mask: Factors of h for each gate, [G, B, S]; [0] without a mask.
seed: Selects the units that zoneout keeps, [2]; [0] for the mean of zoneout. Equal inputs give
  equal results.
output: Every h', [T, B, S]; 0 beyond the length of a sequence.
output_h: The h' of the last step of each sequence, [B, S]; input_h for a length of 0.
output_c: The c' of the last step of each sequence, [B, H]; a scalar 0 unless rnn_mode is lstm.
reserve_space: Data for LayerRNNBackprop, a vector; a scalar 0 unless is_training.
activation: a above; must be the default for rnn_relu and rnn_tanh.
recurrent_activation: s above; must be the default for rnn, rnn_relu and rnn_tanh.
cell_clip: The maximum of |c'|, for lstm only; 0 for no clipping.
proj_clip: The maximum of |h'| with a projection; 0 for no clipping. It is rounded to T.
zoneout_h: For lstm and gru only, between 0 and 1. Excludes a projection, peepholes and cell_clip.
zoneout_c: For lstm only, between 0 and 1. Excludes a projection, peepholes and cell_clip.
layer_norm_epsilon: Added to variances, a positive number. Not read without layer_norm.
is_training: Whether to fill reserve_space.
time_major: Whether the first dimension of input and output is time.
)doc");

REGISTER_OP("TfRnnOps>LayerRNNBackprop")
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
    .Input("input_mask: T")
    .Input("recurrent_mask: T")
    .Input("seed: int64")
    .Input("output: T")
    .Input("output_h: T")
    .Input("output_c: T")
    .Input("output_backprop: T")
    .Input("output_h_backprop: T")
    .Input("output_c_backprop: T")
    .Input("reserve_space: T")
    .Output("input_backprop: T")
    .Output("input_h_backprop: T")
    .Output("input_c_backprop: T")
    .Output("kernel_backprop: T")
    .Output("recurrent_kernel_backprop: T")
    .Output("bias_backprop: T")
    .Output("projection_backprop: T")
    .Output("peepholes_backprop: T")
    .Output("layer_norm_backprop: T")
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
    .SetShapeFn(RnnShape<kLayerRnnBackprop>)
    .Doc(R"doc(
The gradient of LayerRNN with respect to all inputs except the lengths, the masks and the seed.

The inputs are the inputs and outputs of a call of LayerRNN with is_training=True, and the gradients
of its outputs.

Source of the maths: back-propagation through time of the equations in LayerRNN. The gradient is 0
through a c' beyond cell_clip and through an output that has reached proj_clip. Sums accumulate in
float32 for bfloat16 and half, otherwise in T, and each gradient is rounded once.

Raises InvalidArgument for inputs that LayerRNN rejects, for a shape that does not fit, and for a
reserve_space of another call.

input: [T, B, I].
input_h: [B, S].
input_c: [B, H]; ignored, with any shape, unless rnn_mode is lstm, like output_c and its gradient.
kernel: [I, G*H].
recurrent_kernel: [S, G*H].
bias: [G*H], for gru [2, G*H], or [0].
projection: [H, P] or [0].
peepholes: [3, H] or [0].
layer_norm: [18, H] or [0].
sequence_lengths: [B] or [0].
input_mask: [G, B, I] or [0].
recurrent_mask: [G, B, S] or [0].
seed: [2] or [0].
output: [T, B, S].
output_h: [B, S].
output_c: [B, H].
output_backprop: Gradient of output, [T, B, S]; values beyond the length of a sequence are
  ignored.
output_h_backprop: Gradient of output_h, [B, S].
output_c_backprop: Gradient of output_c, [B, H].
reserve_space: The output reserve_space of LayerRNN.
input_backprop: [T, B, I]; 0 beyond the length of a sequence.
input_h_backprop: [B, S].
input_c_backprop: [B, H]; a scalar 0 unless rnn_mode is lstm.
kernel_backprop: [I, G*H].
recurrent_kernel_backprop: [S, G*H].
bias_backprop: As bias.
projection_backprop: As projection.
peepholes_backprop: As peepholes.
layer_norm_backprop: As layer_norm.
activation: As in LayerRNN, like the seven below.
recurrent_activation: As in LayerRNN.
cell_clip: As in LayerRNN.
proj_clip: As in LayerRNN.
zoneout_h: As in LayerRNN.
zoneout_c: As in LayerRNN.
layer_norm_epsilon: As in LayerRNN.
time_major: As in LayerRNN.
)doc");

// Ops for int8 weights.

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
