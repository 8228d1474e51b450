// The op behind the derivatives of higher order.
#include "cc/core/network/op_spec.h"
#include "cc/tf/ops/layer_rnn_attrs.h"
#include "cc/tf/ops/shape_functions.h"
#include "tensorflow/core/framework/op.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

REGISTER_OP("TfRnnOps>LinearRecurrence")
    .Input("input: T")
    .Input("cell_input: T")
    .Input("recurrent_kernel: T")
    .Input("h_by_gates: T")
    .Input("c_by_gates: T")
    .Input("h_by_h: T")
    .Input("h_by_c: T")
    .Input("c_by_h: T")
    .Input("c_by_c: T")
    .Output("output: T")
    .Output("cell_output: T")
    .Attr("T: {float, double}")
    .Attr(RNN_OPS_LAYER_MODE_ATTR)
    .Attr("transposed: bool = false")
    .SetShapeFn(RnnShape<kLinearRecurrence>)
    .Doc(R"doc(
Runs a recurrence that is linear in its states: the derivative of a recurrent layer in one
direction, or the adjoint of that derivative. Gradients of gradient ops are made of it.

The letters are T time steps, B batch, H units, G gates (LSTM 4, GRU 3, otherwise 1). h, c and u, v
are rows of output, cell_output, input and cell_input; x_by_y is how x of a step changes with y,
where `gates` is what h of the step before gives times R, the recurrent_kernel. c exists with lstm
only. Products of x_by_gates with a row of G*H are added up over the gates.

  h_t = u_t + h_by_gates_t * (h_{t-1} R) + h_by_h_t * h_{t-1} + h_by_c_t * c_{t-1}
  c_t = v_t + c_by_gates_t * (h_{t-1} R) + c_by_h_t * h_{t-1} + c_by_c_t * c_{t-1}

With transposed=True, from the last step to the first, with s = t + 1:

  h_t = u_t + (h_by_gates_s * h_s + c_by_gates_s * c_s) R' + h_by_h_s * h_s + c_by_h_s * c_s
  c_t = v_t + h_by_c_s * h_s + c_by_c_s * c_s

Before the first step that is run, h and c are 0.

Raises InvalidArgument, when the graph is built where shapes are known then, for a tensor of another
rank or size than below.

input: [T, B, H].
cell_input: [T, B, H]; any shape, and ignored, unless rnn_mode is lstm.
recurrent_kernel: [H, G*H].
h_by_gates: [T, B, G*H], or [0] where all are 0, as the five below.
c_by_gates: [T, B, G*H].
h_by_h: [T, B, H].
h_by_c: [T, B, H].
c_by_h: [T, B, H].
c_by_c: [T, B, H].
output: [T, B, H].
cell_output: [T, B, H]; a scalar 0 unless rnn_mode is lstm.
rnn_mode: Says G and whether there is c.
transposed: Whether to run the adjoint.
)doc");

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
