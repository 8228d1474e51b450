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
  RNN_OPS_RETURN_IF_ERROR(ReadPackAttrs(c, &config));
  RNN_OPS_RETURN_IF_ERROR(CheckParamsShape(config, FromTf(c, c->input(0))));
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
    .SetShapeFn(PackCudnnRnnParamsShape);

REGISTER_OP("TfRnnOps>PackLayerRNN")
    .Input("kernel: T")
    .Input("recurrent_kernel: T")
    .Input("bias: T")
    .Input("projection: T")
    .Output("packed: uint8")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr(LayerModeAttr())
    .Attr("keep: bool = false")
    .SetShapeFn(RnnShape<kPackLayerRnn>);

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
    .SetShapeFn(RnnShape<kCudnnRnnV3Packed>);

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
    .SetShapeFn(RnnShape<kLayerRnnPacked>);

}  // namespace
}  // namespace rnn_ops::tf_kernels
