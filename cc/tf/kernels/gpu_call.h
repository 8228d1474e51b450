// What the kernels on a GPU share: the stream, device memory from TensorFlow's allocator, types.
// Nothing here, nor in cc/gpu, needs CUDA when it is built or loaded.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_GPU_CALL_H_
#define TF_RNN_OPS_CC_TF_KERNELS_GPU_CALL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "cc/core/status.h"
#include "cc/gpu/device_allocator.h"
#include "cc/gpu/elementwise.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace rnn_ops {
namespace tf_kernels {

// Whether products of float32 may use TF32: TensorFlow's own switch.
bool AllowTf32();

// Where a call runs. TensorFlow has made the stream's context current for Compute().
struct GpuPlace {
  void* stream = nullptr;  // CUstream
  int device = 0;          // ordinal
  absl::Status Take(tensorflow::OpKernelContext* context);
};

// Device memory that lives as long as this object. TensorFlow's allocator orders reuse by the
// stream, so the work that uses the memory need not have run by then.
class TempAllocator : public gpu::DeviceAllocator {
 public:
  explicit TempAllocator(tensorflow::OpKernelContext* context) : context_(context) {}
  void* Allocate(int64_t bytes) override;

 private:
  tensorflow::OpKernelContext* context_;
  std::vector<tensorflow::Tensor> held_;
};

// cudaMemcpy within the device, in the order of the stream: a CopyBytes of rnn_params_kernels.h.
absl::Status CopyBytesOnGpu(tensorflow::OpKernelContext* context, void* to, const void* from,
                            int64_t bytes);

absl::Status SetZeroOnGpu(const GpuPlace& place, tensorflow::Tensor* tensor);

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_GPU_CALL_H_
