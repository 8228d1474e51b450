#include "cc/tf/op_util.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/warning.h"
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
  switch (status.code()) {
    case Code::kOk:
      return absl::OkStatus();
    case Code::kInvalidArgument:
      return absl::InvalidArgumentError(status.message());
    case Code::kFailedPrecondition:
      return absl::FailedPreconditionError(status.message());
    case Code::kResourceExhausted:
      return absl::ResourceExhaustedError(status.message());
    case Code::kUnimplemented:
      return absl::UnimplementedError(status.message());
    case Code::kInternal:
      break;
  }
  return absl::InternalError(status.message());
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
  switch (dtype) {
    case tensorflow::DT_FLOAT:
      *result = kFloat32;
      return absl::OkStatus();
    case tensorflow::DT_DOUBLE:
      *result = kFloat64;
      return absl::OkStatus();
    case tensorflow::DT_HALF:
      *result = kFloat16;
      return absl::OkStatus();
    case tensorflow::DT_BFLOAT16:
      *result = kBFloat16;
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(StrCat("T must be bfloat16, half, float or double, but is ",
                                               tensorflow::DataTypeString(dtype), "."));
  }
}

void SetZero(Tensor* tensor) {
  if (tensor->TotalBytes() > 0) std::memset(tensor->data(), 0, tensor->TotalBytes());
}

void CopyElements(const Tensor& from, Tensor* to) {
  if (from.TotalBytes() > 0) std::memcpy(to->data(), from.data(), from.TotalBytes());
}

}  // namespace rnn_ops::tf_kernels
