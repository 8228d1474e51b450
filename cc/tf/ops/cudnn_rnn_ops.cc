// CudnnRNNV3 and its gradient, with the signatures of TensorFlow's ops, and StatelessCudnnRNNV3.
#include "cc/core/op/op_spec.h"
#include "cc/tf/ops/shape_functions.h"
#include "tensorflow/core/framework/op.h"

namespace rnn_ops::tf_kernels {
namespace {

// WHY stateful: TensorFlow must not merge two calls with the same inputs, because their dropout
// differs.
REGISTER_OP("TfRnnOps>CudnnRNNV3")
    .Input("input: T")
    .Input("input_h: T")
    .Input("input_c: T")
    .Input("params: T")
    .Input("sequence_lengths: int32")
    .Output("output: T")
    .Output("output_h: T")
    .Output("output_c: T")
    .Output("reserve_space: T")
    .Output("host_reserved: int8")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("dropout: float = 0.0")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("num_proj: int = 0")
    .Attr("is_training: bool = true")
    .Attr("time_major: bool = true")
    .SetIsStateful()
    .SetShapeFn(RnnShape<kCudnnRnnV3>)
    .Doc(R"doc(
Runs a recurrent network of any number of layers over a batch of sequences.

The letters are T time steps, B batch, I input size, H units, L layers, D directions (1 or 2), S the
size of a hidden state (num_proj if that is set, otherwise H). With time_major=False every
[T, B, ...] is [B, T, ...] and every [L*D, B, ...] is [B, L*D, ...]. State number l*D + d belongs to
layer l and direction d (0 forward, 1 backward). Layer l > 0 reads the output of layer l - 1.

One step of a layer, with s the logistic function, * element by element, x the layer's input and h
its previous hidden state. Each gate g has weights W_g and R_g and two biases bW_g and bR_g:

  rnn_relu, rnn_tanh   h' = relu or tanh(x W + bW + h R + bR)
  lstm                 i, f, o = s(x W_g + bW_g + h R_g + bR_g)  for g = i, f, o
                       c~ = tanh(x W_c + bW_c + h R_c + bR_c)
                       c' = f * c + i * c~;  h' = o * tanh(c'), times the projection if there is one
  gru                  r, u = s(x W_g + bW_g + h R_g + bR_g)  for g = r, u
                       h~ = tanh(x W_h + bW_h + r * (h R_h + bR_h));  h' = (1 - u) * h~ + u * h

Source of the maths: cuDNN's documentation of cudnnRNNMode_t; LSTM after Hochreiter and Schmidhuber
(1997) and Gers et al. (2000), GRU after Cho et al. (2014) with the reset gate applied
after the recurrent product, projection after Sak et al. (2014).

Arithmetic is in float32 for bfloat16 and half, otherwise in T.

Raises InvalidArgument for a tensor whose rank or size differs from the shapes below, for a length
outside [0, T], I or H of 0, 'skip_input' with I != H, num_proj outside [0, H] or without 'lstm',
dropout outside [0, 1], and sizes beyond 2^62 bytes. The error is raised when the graph is built if
the shapes are known then.

input: [T, B, I], of type T.
input_h: Initial hidden states, [L*D, B, S].
input_c: Initial cell states, [L*D, B, H] for rnn_mode 'lstm'. Ignored otherwise: any shape.
params: All weights and biases, a vector of the length that CudnnRNNParamsSize returns, in the order
  of docs/param-layout.md.
sequence_lengths: [B], each in [0, T]. Sequence b is read up to its length. From that step on its
  output is 0. The backward direction starts at the last step within the length, and the final
  states are the states after the length. The states of a sequence of length 0 pass through.
output: [T, B, D*S]: the hidden states of the last layer, forward and then backward.
output_h: Final hidden states, [L*D, B, S].
output_c: Final cell states, [L*D, B, H] for rnn_mode 'lstm'; otherwise a scalar 0.
reserve_space: Data for the gradient op, a vector of unspecified content. Without is_training a
  scalar 0.
host_reserved: A scalar for the gradient op: the number of cuDNN's algorithm with is_training on a
  GPU, otherwise 0.
rnn_mode: The kind of cell.
input_mode: 'linear_input' multiplies the input of the first layer by weights; 'skip_input' adds it
  to every gate as it is, without weights, and needs I == H; 'auto_select' is 'skip_input' if I == H
  and otherwise 'linear_input'.
direction: 'bidirectional' adds a second set of cells to each layer that reads time backwards.
dropout: Probability, in [0, 1], that an element between two layers is set to 0. The remaining
  elements are divided by 1 - dropout. No effect without is_training, or if L is 1.
seed: With seed2 and the number of the call, selects the elements to drop.
seed2: See seed. All 64 bits of both count.
num_proj: Size of the projection of the hidden state, in [0, H], for 'lstm' only. 0 means none.
is_training: Whether to fill reserve_space and to apply dropout.
time_major: Whether time is the first dimension of input and output, and batch the second.
)doc");

// WHY a separate op: CudnnRNNV3 has TensorFlow's signature, in which the seeds are attributes.
REGISTER_OP("TfRnnOps>StatelessCudnnRNNV3")
    .Input("input: T")
    .Input("input_h: T")
    .Input("input_c: T")
    .Input("params: T")
    .Input("sequence_lengths: int32")
    .Input("seed: int64")
    .Output("output: T")
    .Output("output_h: T")
    .Output("output_c: T")
    .Output("reserve_space: T")
    .Output("host_reserved: int8")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("dropout: float = 0.0")
    .Attr("num_proj: int = 0")
    .Attr("time_major: bool = true")
    .SetShapeFn(RnnShape<kStatelessCudnnRnnV3>)
    .Doc(R"doc(
CudnnRNNV3 in training, with the seed of dropout as an input. The op has no state.

Two calls with equal inputs and attributes drop the same elements. Letters, maths and the effect of
time_major are as in CudnnRNNV3. CudnnRNNBackpropV3 is the gradient of both ops.

Raises InvalidArgument for inputs that CudnnRNNV3 rejects and for a seed of another shape.

input: [T, B, I], of type T.
input_h: Initial hidden states, [L*D, B, S].
input_c: Initial cell states, [L*D, B, H] for rnn_mode 'lstm'. Ignored otherwise: any shape.
params: The opaque buffer.
sequence_lengths: [B], each in [0, T].
seed: [2]: selects the elements to drop. All 64 bits of both count. On a GPU it is read on the host.
output: [T, B, D*S]: the hidden states of the last layer, forward and then backward.
output_h: Final hidden states, [L*D, B, S].
output_c: Final cell states, [L*D, B, H] for rnn_mode 'lstm'; otherwise a scalar 0.
reserve_space: Data for the gradient op, a vector of unspecified content.
host_reserved: A scalar for the gradient op, as in CudnnRNNV3.
rnn_mode: As in CudnnRNNV3, like every other attribute.
input_mode: As in CudnnRNNV3.
direction: As in CudnnRNNV3.
dropout: As in CudnnRNNV3.
num_proj: As in CudnnRNNV3.
time_major: As in CudnnRNNV3.
)doc");

// WHY not stateful, unlike TensorFlow's op: the op has no state, so it may be pruned and run in
// parallel.
REGISTER_OP("TfRnnOps>CudnnRNNBackpropV3")
    .Input("input: T")
    .Input("input_h: T")
    .Input("input_c: T")
    .Input("params: T")
    .Input("sequence_lengths: int32")
    .Input("output: T")
    .Input("output_h: T")
    .Input("output_c: T")
    .Input("output_backprop: T")
    .Input("output_h_backprop: T")
    .Input("output_c_backprop: T")
    .Input("reserve_space: T")
    .Input("host_reserved: int8")
    .Output("input_backprop: T")
    .Output("input_h_backprop: T")
    .Output("input_c_backprop: T")
    .Output("params_backprop: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("dropout: float = 0.0")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("num_proj: int = 0")
    .Attr("time_major: bool = true")
    .SetShapeFn(RnnShape<kCudnnRnnBackpropV3>)
    .Doc(R"doc(
The gradient of CudnnRNNV3 with respect to input, input_h, input_c and params.

The inputs are the inputs, outputs and attributes of a call of CudnnRNNV3 with is_training=True, or
of StatelessCudnnRNNV3, and the gradients of output, output_h and output_c. Letters and the effect
of time_major are as in CudnnRNNV3. The dropout mask is the mask of the forward call, which
reserve_space holds. The op does not write to reserve_space, so any number of calls may use it.

Source of the maths: back-propagation through time of the equations in CudnnRNNV3. Products
accumulate in float32 for bfloat16 and half, otherwise in T, and each gradient is rounded once.

Raises InvalidArgument for inputs that CudnnRNNV3 rejects, for a shape that does not fit, and for a
reserve_space of another size or of a call with other sizes or attributes. On a GPU it also raises
InvalidArgument for a host_reserved that no call returns.

input: [T, B, I], of type T.
input_h: [L*D, B, S].
input_c: [L*D, B, H] for rnn_mode 'lstm'. Ignored otherwise: any shape.
params: The opaque buffer.
sequence_lengths: [B], each in [0, T].
output: [T, B, D*S].
output_h: [L*D, B, S].
output_c: [L*D, B, H] for rnn_mode 'lstm'. Ignored otherwise: any shape.
output_backprop: Gradient of output, [T, B, D*S]. Values beyond the length of a sequence are
  ignored.
output_h_backprop: Gradient of output_h, [L*D, B, S].
output_c_backprop: Gradient of output_c, [L*D, B, H] for rnn_mode 'lstm'. Ignored otherwise.
reserve_space: The output reserve_space of CudnnRNNV3, a vector.
host_reserved: The output host_reserved of CudnnRNNV3. Only a GPU reads it.
input_backprop: [T, B, I]; 0 beyond the length of a sequence.
input_h_backprop: [L*D, B, S].
input_c_backprop: [L*D, B, H] for rnn_mode 'lstm'; otherwise a scalar 0.
params_backprop: As params.
rnn_mode: As in CudnnRNNV3, like every other attribute.
input_mode: As in CudnnRNNV3.
direction: As in CudnnRNNV3.
dropout: As in CudnnRNNV3.
seed: Not used: reserve_space holds the mask.
seed2: Not used: reserve_space holds the mask.
num_proj: As in CudnnRNNV3.
time_major: As in CudnnRNNV3.
)doc");

}  // namespace
}  // namespace rnn_ops::tf_kernels
