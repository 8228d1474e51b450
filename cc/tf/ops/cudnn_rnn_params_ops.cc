// Ops on the opaque parameter buffer, with the signatures of TensorFlow's ops.
#include "cc/core/op/param_layout.h"
#include "cc/core/op/shapes.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace rnn_ops::tf_kernels {
namespace {

using ::tensorflow::Tensor;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

// One of the three sizes; unknown if its value is not known when the graph is built.
absl::Status InferSize(InferenceContext* c, const char* name, int index, int64_t* size) {
  const Tensor* tensor = c->input_tensor(index);
  if (tensor != nullptr) return ReadRnnSize(name, *tensor, size);
  ShapeHandle unused;
  const absl::Status status = c->WithRank(c->input(index), 0, &unused);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      StrCat(name, " must be a scalar, but its shape is ", c->DebugString(c->input(index)), "."));
}

absl::Status InferProblem(InferenceContext* c, RnnAttrs* attrs, RnnSizeInputs* sizes,
                          RnnConfig* config) {
  using In = RnnParamsInput;
  AttrSet has;
  has.is_training = AttrSet::kNever;
  has.time_major = false;
  RNN_OPS_RETURN_IF_ERROR(ReadRnnAttrs(c, has, attrs));
  RNN_OPS_RETURN_IF_ERROR(InferSize(c, "num_layers", In::kNumLayers, &sizes->num_layers));
  RNN_OPS_RETURN_IF_ERROR(InferSize(c, "num_units", In::kNumUnits, &sizes->num_units));
  RNN_OPS_RETURN_IF_ERROR(InferSize(c, "input_size", In::kInputSize, &sizes->input_size));
  return MakeParamsConfig(*attrs, *sizes, config);
}

absl::Status ReadCounts(InferenceContext* c, CanonicalCounts* counts) {
  RNN_OPS_RETURN_IF_ERROR(c->GetAttr("num_params_weights", &counts->weights));
  return c->GetAttr("num_params_biases", &counts->biases);
}

absl::Status ParamsSizeShape(InferenceContext* c) {
  RnnAttrs attrs;
  RnnSizeInputs sizes;
  RnnConfig config;
  RNN_OPS_RETURN_IF_ERROR(InferProblem(c, &attrs, &sizes, &config));
  if (sizes.known()) {
    tensorflow::DataType type;
    RNN_OPS_RETURN_IF_ERROR(c->GetAttr("S", &type));
    RNN_OPS_RETURN_IF_ERROR(
        CheckParamsSizeFits(ParamsSize(config), /*is_int32=*/type == tensorflow::DT_INT32));
  }
  c->set_output(0, c->Vector(1));
  return absl::OkStatus();
}

// Returns InvalidArgument if the canonical tensor is known to have another size.
absl::Status CheckElements(InferenceContext* c, const char* list, size_t index, int input,
                           const ParamBlock& block) {
  const auto elements = c->NumElements(c->input(input));
  if (!c->ValueKnown(elements) || c->Value(elements) == block.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(list, "[", index, "] must have ", block.size(),
                                           " elements, but its shape is ",
                                           c->DebugString(c->input(input)), "."));
}

absl::Status CanonicalToParamsShape(InferenceContext* c) {
  RnnAttrs attrs;
  RnnSizeInputs sizes;
  RnnConfig config;
  RNN_OPS_RETURN_IF_ERROR(InferProblem(c, &attrs, &sizes, &config));
  if (!sizes.known()) {
    c->set_output(0, c->Vector(InferenceContext::kUnknownDim));
    return absl::OkStatus();
  }
  CanonicalCounts counts;
  RNN_OPS_RETURN_IF_ERROR(ReadCounts(c, &counts));
  RNN_OPS_RETURN_IF_ERROR(CheckCanonicalCounts(config, counts));
  const ParamLayout layout(config);
  int input = RnnParamsInput::kFirstTensor;
  size_t index = 0;
  for (const ParamBlock& block : layout.CanonicalWeights()) {
    RNN_OPS_RETURN_IF_ERROR(CheckElements(c, "weights", index++, input++, block));
  }
  index = 0;
  for (const ParamBlock& block : layout.CanonicalBiases()) {
    RNN_OPS_RETURN_IF_ERROR(CheckElements(c, "biases", index++, input++, block));
  }
  c->set_output(0, c->Vector(layout.size()));
  return absl::OkStatus();
}

absl::Status ParamsToCanonicalShape(InferenceContext* c) {
  RnnAttrs attrs;
  RnnSizeInputs sizes;
  RnnConfig config;
  RNN_OPS_RETURN_IF_ERROR(InferProblem(c, &attrs, &sizes, &config));
  CanonicalCounts counts;
  RNN_OPS_RETURN_IF_ERROR(ReadCounts(c, &counts));
  const PartialShape params = FromTf(c, c->input(RnnParamsInput::kFirstTensor));
  if (params.known_rank && params.dims.size() != 1) {
    return absl::InvalidArgumentError(StrCat("params must be a vector, but its shape is ",
                                             c->DebugString(c->input(RnnParamsInput::kFirstTensor)),
                                             "."));
  }
  int output = 0;
  if (!sizes.known()) {
    for (int64_t k = 0; k < counts.weights; ++k) {
      c->set_output(output++, c->Matrix(c->UnknownDim(), c->UnknownDim()));
    }
    for (int64_t k = 0; k < counts.biases; ++k) {
      c->set_output(output++, c->Vector(c->UnknownDim()));
    }
    return absl::OkStatus();
  }
  RNN_OPS_RETURN_IF_ERROR(CheckCanonicalCounts(config, counts));
  RNN_OPS_RETURN_IF_ERROR(CheckParamsShape(config, params));
  const ParamLayout layout(config);
  for (const ParamBlock& block : layout.CanonicalWeights()) {
    c->set_output(output++, c->Matrix(block.rows, block.cols));
  }
  for (const ParamBlock& block : layout.CanonicalBiases()) {
    c->set_output(output++, c->Vector(block.rows));
  }
  return absl::OkStatus();
}

REGISTER_OP("TfRnnOps>CudnnRNNParamsSize")
    .Input("num_layers: int32")
    .Input("num_units: int32")
    .Input("input_size: int32")
    .Output("params_size: S")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("S: {int32, int64}")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("dropout: float = 0.0")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("num_proj: int = 0")
    .SetShapeFn(ParamsSizeShape);

REGISTER_OP("TfRnnOps>CudnnRNNCanonicalToParamsV2")
    .Input("num_layers: int32")
    .Input("num_units: int32")
    .Input("input_size: int32")
    .Input("weights: num_params_weights * T")
    .Input("biases: num_params_biases * T")
    .Output("params: T")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("num_params_weights: int >= 1")
    .Attr("num_params_biases: int >= 1")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("dropout: float = 0.0")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("num_proj: int = 0")
    .SetShapeFn(CanonicalToParamsShape);

REGISTER_OP("TfRnnOps>CudnnRNNParamsToCanonicalV2")
    .Input("num_layers: int32")
    .Input("num_units: int32")
    .Input("input_size: int32")
    .Input("params: T")
    .Output("weights: num_params_weights * T")
    .Output("biases: num_params_biases * T")
    .Attr("T: {bfloat16, half, float, double}")
    .Attr("num_params_weights: int >= 1")
    .Attr("num_params_biases: int >= 1")
    .Attr("rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'")
    .Attr("input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'")
    .Attr("direction: {'unidirectional', 'bidirectional'} = 'unidirectional'")
    .Attr("dropout: float = 0.0")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("num_proj: int = 0")
    .SetShapeFn(ParamsToCanonicalShape);

}  // namespace
}  // namespace rnn_ops::tf_kernels
