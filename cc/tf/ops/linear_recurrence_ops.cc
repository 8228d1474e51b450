// LinearRecurrence, which computes derivatives of higher order.
#include "cc/core/op/op_spec.h"
#include "cc/tf/ops/shape_functions.h"
#include "tensorflow/core/framework/op.h"

namespace rnn_ops::tf_kernels {
namespace {

// A recurrence that is linear in its states: the derivative of a recurrent layer in one direction,
// or the adjoint of that derivative. The gradients of gradient ops use it.
//
// h_t, c_t, u_t and v_t are step t of output, cell_output, input and cell_input. R is the
// recurrent_kernel. x_by_y is the derivative of x at a step by y, where `gates` is the product of h
// of the step before and R. c exists with lstm only. Products of x_by_gates with a row of G*H are
// summed over the gates.
//
//   h_t = u_t + h_by_gates_t * (h_{t-1} R) + h_by_h_t * h_{t-1} + h_by_c_t * c_{t-1}
//   c_t = v_t + c_by_gates_t * (h_{t-1} R) + c_by_h_t * h_{t-1} + c_by_c_t * c_{t-1}
//
// With transposed=True, from the last step to the first, with s = t + 1:
//
//   h_t = u_t + (h_by_gates_s * h_s + c_by_gates_s * c_s) R' + h_by_h_s * h_s + c_by_h_s * c_s
//   c_t = v_t + h_by_c_s * h_s + c_by_c_s * c_s
//
// Before the first computed step, h and c are 0. A factor of [0] counts as zeros.
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
    .Attr(LayerModeAttr())
    .Attr("transposed: bool = false")
    .SetShapeFn(RnnShape<kLinearRecurrence>);

}  // namespace
}  // namespace rnn_ops::tf_kernels
