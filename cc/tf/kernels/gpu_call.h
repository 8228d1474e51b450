// The stream, device memory from TensorFlow's allocator, and types for the GPU kernels. Neither
// this header nor cc/gpu needs CUDA at build or load time.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "cc/core/status.h"
#include "cc/gpu/launch/device_ops.h"
#include "cc/gpu/memory/device_allocator.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace rnn_ops::tf_kernels {

// Whether float32 products may use TF32. This is TensorFlow's own setting.
bool AllowTf32();

// Where a call runs. TensorFlow makes the context of the stream current for Compute().
struct GpuPlace {
  void* stream = nullptr;  // CUstream
  int device = 0;          // ordinal
  absl::Status Find(tensorflow::OpKernelContext* context);
};

// Device memory that lives as long as this object. TensorFlow's allocator orders reuse by the
// stream, so the object may be destroyed before the work that uses the memory has run.
class TempAllocator : public gpu::DeviceAllocator {
 public:
  explicit TempAllocator(tensorflow::OpKernelContext* context) : context_(context) {}
  void* Allocate(int64_t bytes) override;

 private:
  tensorflow::OpKernelContext* context_;
  std::vector<tensorflow::Tensor> held_;
};

// A copy within the device, in the order of the stream. It is a CopyBytes of rnn_params_kernels.h.
absl::Status CopyBytesOnGpu(tensorflow::OpKernelContext* context, void* to, const void* from,
                            int64_t bytes);

absl::Status SetZeroOnGpu(const GpuPlace& place, tensorflow::Tensor* tensor);

// An op that packs weights: returns an empty vector, which the ops with packed weights treat as no
// packed weights.
class PackNothingGpuKernel : public CheckedOpKernel {
 public:
  using CheckedOpKernel::CheckedOpKernel;

 protected:
  void DoCompute(tensorflow::OpKernelContext* context) override;
};

}  // namespace rnn_ops::tf_kernels
