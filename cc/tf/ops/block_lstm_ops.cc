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
    .SetShapeFn(BlockLstmShape<kBlockLstm>);

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
    .SetShapeFn(BlockLstmShape<kBlockLstmGrad>);

}  // namespace
}  // namespace rnn_ops::tf_kernels
