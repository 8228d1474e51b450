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
    .SetShapeFn(RnnShape<kCudnnRnnV3>);

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
    .SetShapeFn(RnnShape<kStatelessCudnnRnnV3>);

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
    .SetShapeFn(RnnShape<kCudnnRnnBackpropV3>);

}  // namespace
}  // namespace rnn_ops::tf_kernels
