#include "cc/tf/op_util.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "cc/core/machine_limits.h"
#include "cc/tf/cached_memory.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/util/work_sharder.h"

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

Status FromTf(const absl::Status& status) {
  return status.ok() ? Status() : InvalidArgument(status.message());
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

namespace {

// How many threads of TensorFlow's pool an op may keep busy, its caller included.
int NumThreads(const tsl::thread::ThreadPool* pool) {
  if (pool == nullptr) return 1;
  // The last is of what runs the op: tf.data's max_intra_op_parallelism sets it.
  return std::max(
      1, std::min({pool->NumThreads(), AvailableCpus(), tensorflow::GetPerThreadMaxParallelism()}));
}

// Whether the op was called by itself from Python, and so runs on the thread that called it. Ops of
// a tf.function have their caller's stack trace too. TensorFlow 2.21 makes a function of an eager
// op, but runs it on the executor without threads.
bool IsEager(const OpKernelContext& context) {
  return context.stack_trace().has_value() &&
         (context.call_frame() == nullptr || context.executor_type() == "SINGLE_THREADED_EXECUTOR");
}

}  // namespace

PoolParallelFor::PoolParallelFor(OpKernelContext* context)
    : PoolParallelFor(context->device()->tensorflow_cpu_worker_threads()->workers,
                      IsEager(*context)) {}

PoolParallelFor::PoolParallelFor(tsl::thread::ThreadPool* pool, bool eager)
    : team_(
          NumThreads(pool),
          [pool](std::function<void()> closure) { pool->Schedule(std::move(closure)); }, eager) {}

absl::Status Scratch::Allocate(OpKernelContext* context, int64_t bytes, void** data) {
  if (bytes < 0) {
    return absl::InvalidArgumentError("The problem needs more scratch memory than 2^62 bytes.");
  }
  *data = small_;
  if (bytes <= static_cast<int64_t>(sizeof(small_))) return absl::OkStatus();
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateLargeTemp(context, tensorflow::DT_UINT8, TensorShape({bytes}), &large_));
  *data = large_.data();
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
