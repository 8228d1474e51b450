#include "cc/tf/cached_memory.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "cc/core/checked_math.h"
#include "cc/core/runtime/block_cache.h"
#include "cc/core/status.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_attributes.pb.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/types.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::Allocator;
using ::tensorflow::AllocatorAttributes;
using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

namespace {

// The C library keeps smaller blocks well enough. Below this size, returning pages of 4 KiB to the
// system costs more than it saves: 0.1 ms of a call of 0.5 ms. Larger blocks consist of huge pages.
constexpr int64_t kLargeBytes = int64_t{4} << 20;

class CachedAllocator : public Allocator {
 public:
  std::string Name() override { return "tf_rnn_ops_cached"; }

  void* AllocateRaw(size_t alignment, size_t num_bytes) override {
    if (alignment > kPage || num_bytes >= static_cast<size_t>(kSizeLimit)) return nullptr;
    return ProcessBlockCache().Acquire(static_cast<int64_t>(num_bytes));
  }

  void DeallocateRaw(void* data) override { ProcessBlockCache().Return(data); }

  tsl::AllocatorMemoryType GetMemoryType() const override {
    return tsl::AllocatorMemoryType::kHostPageable;
  }

 private:
  static constexpr size_t kPage = 4096;  // the minimum alignment of a block
};

// Never destroyed, because tensors may outlive the static objects of a process that exits.
Allocator* GetCachedAllocator() {
  static CachedAllocator* const allocator = new CachedAllocator;
  return allocator;
}

bool IsLarge(DataType dtype, const TensorShape& shape) {
  const CheckedSize bytes =
      CheckedSize(shape.num_elements()) * CheckedSize(tensorflow::DataTypeSize(dtype));
  return bytes.ok() && bytes.value() >= kLargeBytes;  // on overflow TensorFlow reports the error
}

// Whether TensorFlow's allocator is malloc. The allocator of a TensorFlow with oneDNN keeps memory
// itself, and the cache makes small calls up to 4 % slower with that allocator.
bool IsMalloc(Allocator* allocator) { return allocator->Name() == "cpu"; }

// Whether the tensor may be in ordinary host memory. It may not if it is on a GPU, or if TensorFlow
// needs pinned memory for copies to a GPU or a part of a larger buffer. If a run counts memory,
// TensorFlow allocates.
bool MayBeCached(OpKernelContext* context, AllocatorAttributes attributes) {
  AllocatorAttributes on_host;
  on_host.set_on_host(true);
  // WHY not attributes(): when Grappler folds constants, the device aborts on that call.
  return context->device()->device_type() == tensorflow::DEVICE_CPU &&
         attributes.IsEqualOrLessRestrictiveThan(on_host) && attributes.scope_id == 0 &&
         !context->track_allocations() && IsMalloc(context->get_allocator(attributes));
}

absl::Status AllocateCached(DataType dtype, const TensorShape& shape, Tensor* tensor) {
  Tensor cached(GetCachedAllocator(), dtype, shape);
  if (!cached.IsInitialized()) {
    return absl::ResourceExhaustedError(StrCat("There is not enough memory for a tensor of shape ",
                                               shape.DebugString(), " and type ",
                                               tensorflow::DataTypeString(dtype), "."));
  }
  *tensor = std::move(cached);
  return absl::OkStatus();
}

}  // namespace

absl::Status AllocateLargeTemp(OpKernelContext* context, DataType dtype, const TensorShape& shape,
                               Tensor* tensor) {
  if (IsLarge(dtype, shape) && MayBeCached(context, AllocatorAttributes())) {
    return AllocateCached(dtype, shape, tensor);
  }
  return context->allocate_temp(dtype, shape, tensor);
}

absl::Status AllocateLargeOutput(OpKernelContext* context, int index, const TensorShape& shape,
                                 Tensor** tensor) {
  const DataType dtype = context->expected_output_dtype(index);
  if (!IsLarge(dtype, shape) || !MayBeCached(context, context->output_alloc_attr(index))) {
    return context->allocate_output(index, shape, tensor);
  }
  Tensor cached;
  const absl::Status status = AllocateCached(dtype, shape, &cached);
  if (!status.ok()) return status;
  context->set_output(index, std::move(cached));
  *tensor = context->mutable_output(index);
  return absl::OkStatus();
}

}  // namespace rnn_ops::tf_kernels
