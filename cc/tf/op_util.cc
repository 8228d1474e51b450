#include "cc/tf/op_util.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "cc/tf/cached_memory.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/types.h"
#include "tsl/platform/threadpool.h"

namespace rnn_ops {
namespace tf_kernels {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

static_assert(tensorflow::Allocator::kAllocatorAlignment >= 64,
              "The kernels count on 64-byte aligned scratch and reserve space.");

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
  if (!shape.known_rank) return absl::InternalError("A kernel met a shape of unknown rank.");
  return TensorShape::BuildTensorShape(shape.dims, result);
}

absl::Status ToKernelDtype(DataType dtype, cpu::KernelDtype* result) {
  switch (dtype) {
    case tensorflow::DT_FLOAT:
      *result = cpu::kFloat32;
      return absl::OkStatus();
    case tensorflow::DT_DOUBLE:
      *result = cpu::kFloat64;
      return absl::OkStatus();
    case tensorflow::DT_HALF:
      *result = cpu::kFloat16;
      return absl::OkStatus();
    case tensorflow::DT_BFLOAT16:
      *result = cpu::kBFloat16;
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(StrCat("T must be bfloat16, half, float or double, but is ",
                                               tensorflow::DataTypeString(dtype), "."));
  }
}

PoolParallelFor::PoolParallelFor(OpKernelContext* context) {
  const auto* workers = context->device()->tensorflow_cpu_worker_threads();
  pool_ = workers->workers;
  num_threads_ = pool_ == nullptr ? 1 : std::max(1, pool_->NumThreads());
}

cpu::ParallelFor PoolParallelFor::callback() { return {this, num_threads_, &Run}; }

void PoolParallelFor::Run(void* context, int64_t n, void (*fn)(void* arg, int64_t i), void* arg) {
  auto* self = static_cast<PoolParallelFor*>(context);
  if (n <= 1 || self->num_threads_ == 1) {
    for (int64_t i = 0; i < n; ++i) fn(arg, i);
    return;
  }
  if (!self->team_) {
    tsl::thread::ThreadPool* pool = self->pool_;
    self->team_.emplace(self->num_threads_, [pool](std::function<void()> closure) {
      pool->Schedule(std::move(closure));
    });
  }
  self->team_->For(n, fn, arg);
}

absl::Status AllocateScratch(OpKernelContext* context, int64_t bytes, Tensor* holder, void** data) {
  if (bytes < 0) {
    return absl::InvalidArgumentError("The problem needs more scratch memory than 2^62 bytes.");
  }
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateLargeTemp(context, tensorflow::DT_UINT8, TensorShape({bytes}), holder));
  *data = holder->data();
  return absl::OkStatus();
}

void SetZero(Tensor* tensor) {
  if (tensor->TotalBytes() > 0) std::memset(tensor->data(), 0, tensor->TotalBytes());
}

void CopyElements(const Tensor& from, Tensor* to) {
  if (from.TotalBytes() > 0) std::memcpy(to->data(), from.data(), from.TotalBytes());
}

}  // namespace tf_kernels
}  // namespace rnn_ops
