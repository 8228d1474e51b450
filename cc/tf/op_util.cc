#include "cc/tf/op_util.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/op/param_layout.h"
#include "cc/core/status.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/platform/logging.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::DataType;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

namespace {

// Set when the library is loaded.
const bool logs_through_tensorflow = [] {
  SetWarningSink([](const std::string& text) { LOG(WARNING) << text; });
  return true;
}();

}  // namespace

absl::Status ToTf(const Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.code()), status.message());
}

Status FromTf(const absl::Status& status) {
  const auto as = [&status](Code code) { return Status(code, std::string(status.message())); };
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return Status();
    case absl::StatusCode::kInvalidArgument:
    // TensorFlow's codes for a missing or malformed attribute.
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
      return as(Code::kInvalidArgument);
    case absl::StatusCode::kFailedPrecondition:
      return as(Code::kFailedPrecondition);
    case absl::StatusCode::kResourceExhausted:
      return as(Code::kResourceExhausted);
    case absl::StatusCode::kUnimplemented:
      return as(Code::kUnimplemented);
    default:
      return as(Code::kInternal);
  }
}

PartialShape FromTf(const TensorShape& shape) {
  std::vector<int64_t> dims(shape.dims());
  for (int d = 0; d < shape.dims(); ++d) dims[d] = shape.dim_size(d);
  return PartialShape::Of(std::move(dims));
}

PartialShape FromTf(InferenceContext* c, ShapeHandle shape) {
  if (!c->RankKnown(shape)) return PartialShape::Unknown();
  std::vector<int64_t> dims(c->Rank(shape));
  for (int d = 0; d < c->Rank(shape); ++d) {
    const DimensionHandle dim = c->Dim(shape, d);
    dims[d] = c->ValueKnown(dim) ? c->Value(dim) : kUnknownDim;
  }
  return PartialShape::Of(std::move(dims));
}

ShapeHandle ToTf(InferenceContext* c, const PartialShape& shape) {
  if (!shape.known_rank) return c->UnknownShape();
  std::vector<DimensionHandle> dims;
  for (const int64_t dim : shape.dims) {
    dims.push_back(dim == kUnknownDim ? c->UnknownDim() : c->MakeDim(dim));
  }
  return c->MakeShape(dims);
}

absl::Status ToTf(const PartialShape& shape, TensorShape* result) {
  if (!shape.known_rank) return absl::InternalError("A kernel got a shape of unknown rank.");
  return TensorShape::BuildTensorShape(shape.dims, result);
}

absl::Status ToDtype(DataType dtype, Dtype* result) {
  constexpr DataType kTypes[] = {tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE, tensorflow::DT_HALF,
                                 tensorflow::DT_BFLOAT16};
  if (rnn_ops::ToDtype(dtype, kTypes, result)) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("T must be bfloat16, half, float or double, but is ",
                                           tensorflow::DataTypeString(dtype), "."));
}

void SetZero(Tensor* tensor) {
  if (tensor->TotalBytes() > 0) std::memset(tensor->data(), 0, tensor->TotalBytes());
}

void CopyElements(const Tensor& from, Tensor* to) {
  if (from.TotalBytes() > 0) std::memcpy(to->data(), from.data(), from.TotalBytes());
}

using ::tensorflow::OpKernelContext;

absl::Status MakeParamsConfig(const RnnAttrs& attrs, const RnnSizeInputs& sizes,
                              RnnConfig* config) {
  const bool skip = attrs.input_mode == InputMode::kSkip;
  int64_t units = sizes.num_units;
  if (units == kUnknownDim) {
    units = skip && sizes.input_size != kUnknownDim ? sizes.input_size
                                                    : std::max<int64_t>(1, attrs.num_proj);
  }
  int64_t input_size = sizes.input_size;
  if (input_size == kUnknownDim) input_size = skip ? units : 1;
  const int64_t num_layers = sizes.num_layers == kUnknownDim ? 1 : sizes.num_layers;
  return ToTf(
      MakeRnnConfig(attrs, num_layers, units, input_size, /*max_time=*/0, /*batch=*/0, config));
}

absl::Status ReadRnnSize(const char* name, const Tensor& tensor, int64_t* size) {
  if (tensor.dims() != 0) {
    return absl::InvalidArgumentError(
        StrCat(name, " must be a scalar, but its shape is ", tensor.shape().DebugString(), "."));
  }
  *size = ScalarOf<int32_t>(tensor);
  if (*size >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(name, " must be at least 1, but it is ", *size, "."));
}

absl::Status ReadRnnSizes(OpKernelContext* context, RnnSizeInputs* sizes) {
  using In = RnnParamsInput;
  RNN_OPS_RETURN_IF_ERROR(
      ReadRnnSize("num_layers", context->input(In::kNumLayers), &sizes->num_layers));
  RNN_OPS_RETURN_IF_ERROR(
      ReadRnnSize("num_units", context->input(In::kNumUnits), &sizes->num_units));
  return ReadRnnSize("input_size", context->input(In::kInputSize), &sizes->input_size);
}

CanonicalCounts CountCanonical(const RnnConfig& config) {
  const int64_t gates = 2 * config.num_gates();
  CanonicalCounts counts;
  counts.weights = config.num_pseudo_layers() * (gates + (config.num_proj > 0 ? 1 : 0));
  counts.biases = config.num_pseudo_layers() * gates;
  return counts;
}

absl::Status CheckCanonicalCounts(const RnnConfig& config, const CanonicalCounts& given) {
  const CanonicalCounts expected = CountCanonical(config);
  if (given.weights == expected.weights && given.biases == expected.biases) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(StrCat(
      "The numbers of weights and biases (num_params_weights and num_params_biases; num_params ",
      "in TensorFlow's first versions) must be ", expected.weights, " and ", expected.biases,
      " for num_layers = ", config.num_layers, " with these attributes, but they are ",
      given.weights, " and ", given.biases, "."));
}

absl::Status CheckParamsShape(const RnnConfig& config, const PartialShape& shape) {
  if (!shape.known_rank) return absl::OkStatus();
  const int64_t expected = ParamsSize(config);
  if (shape.dims.size() == 1 && (shape.dims[0] == kUnknownDim || shape.dims[0] == expected)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(StrCat(
      "params must be a vector of ", expected, " elements for num_layers = ", config.num_layers,
      ", num_units = ", config.num_units, ", input_size = ", config.input_size,
      " and these attributes, but its shape is ", ToString(shape), "."));
}

absl::Status CheckParamsSizeFits(int64_t size, bool is_int32) {
  if (!is_int32 || size <= std::numeric_limits<int32_t>::max()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("params_size is ", size, ", which S=int32 cannot hold. Use S=int64."));
}

}  // namespace rnn_ops::tf_kernels
