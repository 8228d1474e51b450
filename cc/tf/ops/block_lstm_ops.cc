// BlockLSTMV2 and its gradient, with the signatures of TensorFlow's ops and with more types.
#include "cc/core/op/op_spec.h"
#include "cc/tf/ops/shape_functions.h"
#include "tensorflow/core/framework/op.h"

namespace rnn_ops::tf_kernels {
namespace {

REGISTER_OP("TfRnnOps>BlockLSTMV2")
    .Input("seq_len_max: int64")
    .Input("x: T")
    .Input("cs_prev: T")
    .Input("h_prev: T")
    .Input("w: T")
    .Input("wci: T")
    .Input("wcf: T")
    .Input("wco: T")
    .Input("b: T")
    .Output("i: T")
    .Output("cs: T")
    .Output("f: T")
    .Output("o: T")
    .Output("ci: T")
    .Output("co: T")
    .Output("h: T")
    .Attr("cell_clip: float = 0.0")
    .Attr("use_peephole: bool = false")
    .Attr("T: {bfloat16, half, float, double}")
    .SetShapeFn(BlockLstmShape<kBlockLstm>)
    .Doc(R"doc(
Runs one LSTM layer over a batch of sequences and returns every intermediate value.

The letters are T time steps, B batch, I input size, H units. For each step t, with s the logistic
function, * element by element, cs[-1] = cs_prev, h[-1] = h_prev and [i~, f~, ci~, o~] the four
blocks of H columns of [x[t], h[t-1]] w + b (without use_peephole there are no terms with wci, wcf
and wco):

  i[t]  = s(i~ + wci * cs[t-1])
  f[t]  = s(f~ + wcf * cs[t-1])
  ci[t] = tanh(ci~)
  cs[t] = ci[t] * i[t] + cs[t-1] * f[t], then clipped to [-cell_clip, cell_clip] if cell_clip > 0
  o[t]  = s(o~ + wco * cs[t])
  co[t] = tanh(cs[t])
  h[t]  = co[t] * o[t]

Source of the maths: Hochreiter and Schmidhuber (1997), Gers et al. (2000), peepholes after Gers et
al. (2002), clipping after Sak et al. (2014); gate order as in TensorFlow's op.

Arithmetic is in float32 for bfloat16 and half, otherwise in T.

Raises InvalidArgument for a tensor whose rank or size differs from the shapes below, for
seq_len_max outside [0, T], for I or H of 0, and for sizes beyond 2^62 bytes. The error is raised
when the graph is built if the shapes are known then.

seq_len_max: A scalar in [0, T]: the number of steps to run, for the whole batch.
x: Input, [T, B, I], of type T.
cs_prev: Initial cell states, [B, H].
h_prev: Initial hidden states, [B, H].
w: Weights, [I + H, 4*H]: rows for x, then rows for h; columns i, f, ci, o.
wci: Peephole weights of the input gate, [H].
wcf: Peephole weights of the forget gate, [H].
wco: Peephole weights of the output gate, [H].
b: Biases, [4*H], in the order of the columns of w.
i: Input gates, [T, B, H]. Like every output, 0 from step seq_len_max on.
cs: Cell states before tanh, [T, B, H].
f: Forget gates, [T, B, H].
o: Output gates, [T, B, H].
ci: Cell inputs, [T, B, H].
co: Cell states after tanh, [T, B, H].
h: Hidden states, [T, B, H].
cell_clip: The maximum of the absolute cell state; 0 or less means no clipping.
use_peephole: Whether to use wci, wcf and wco.
)doc");

REGISTER_OP("TfRnnOps>BlockLSTMGradV2")
    .Input("seq_len_max: int64")
    .Input("x: T")
    .Input("cs_prev: T")
    .Input("h_prev: T")
    .Input("w: T")
    .Input("wci: T")
    .Input("wcf: T")
    .Input("wco: T")
    .Input("b: T")
    .Input("i: T")
    .Input("cs: T")
    .Input("f: T")
    .Input("o: T")
    .Input("ci: T")
    .Input("co: T")
    .Input("h: T")
    .Input("cs_grad: T")
    .Input("h_grad: T")
    .Output("x_grad: T")
    .Output("cs_prev_grad: T")
    .Output("h_prev_grad: T")
    .Output("w_grad: T")
    .Output("wci_grad: T")
    .Output("wcf_grad: T")
    .Output("wco_grad: T")
    .Output("b_grad: T")
    .Attr("use_peephole: bool")
    .Attr("T: {bfloat16, half, float, double}")
    .SetShapeFn(BlockLstmShape<kBlockLstmGrad>)
    .Doc(R"doc(
The gradient of BlockLSTMV2 with respect to every input except seq_len_max.

The inputs are the inputs and outputs of a call of BlockLSTMV2, and the gradients of its outputs cs
and h at every step. The gradients of the other outputs count as 0. The gradient ignores the
clipping of cell_clip.

Source of the maths: back-propagation through time of the equations in BlockLSTMV2. Sums accumulate
in float32 for bfloat16 and half, otherwise in T, and each gradient is rounded once.

Raises InvalidArgument for inputs that BlockLSTMV2 rejects and for a shape that does not fit.

seq_len_max: A scalar in [0, T].
x: [T, B, I].
cs_prev: [B, H].
h_prev: [B, H].
w: [I + H, 4*H].
wci: [H].
wcf: [H].
wco: [H].
b: [4*H].
i: [T, B, H].
cs: [T, B, H].
f: [T, B, H].
o: [T, B, H].
ci: [T, B, H].
co: [T, B, H].
h: [T, B, H].
cs_grad: Gradient of cs, [T, B, H].
h_grad: Gradient of h, [T, B, H].
x_grad: [T, B, I]; 0 from step seq_len_max on.
cs_prev_grad: [B, H].
h_prev_grad: [B, H].
w_grad: [I + H, 4*H].
wci_grad: [H]; 0 without use_peephole, like wcf_grad and wco_grad.
wcf_grad: [H].
wco_grad: [H].
b_grad: [4*H].
use_peephole: As in BlockLSTMV2.
)doc");

}  // namespace
}  // namespace rnn_ops::tf_kernels
