#include "cc/tf/kernels/gpu_call.h"

#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/device_base.h"
#include "tsl/platform/tensor_float_32_utils.h"
#include "xla/stream_executor/stream.h"
#include "xla/stream_executor/stream_executor.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

bool AllowTf32() { return tsl::tensor_float_32_execution_enabled(); }

absl::Status GpuPlace::Find(OpKernelContext* context) {
  const tensorflow::DeviceContext* device_context = context->op_device_context();
  if (device_context == nullptr || device_context->stream() == nullptr) {
    return absl::InternalError("TensorFlow passed no stream to a GPU kernel.");
  }
  stream = device_context->stream()->platform_specific_handle().stream;
  device = device_context->stream()->parent()->device_ordinal();
  if (stream != nullptr) return absl::OkStatus();
  return absl::UnimplementedError(
      "The stream of TensorFlow must be a CUDA stream for these kernels, but it is not.");
}

void* TempAllocator::Allocate(int64_t bytes) {
  Tensor tensor;
  if (!context_->allocate_temp(tensorflow::DT_UINT8, TensorShape({bytes}), &tensor).ok()) {
    return nullptr;
  }
  held_.push_back(tensor);
  return tensor.data();
}

absl::Status CopyBytesOnGpu(OpKernelContext* context, void* to, const void* from, int64_t bytes) {
  GpuPlace place;
  RNN_OPS_RETURN_IF_ERROR(place.Find(context));
  const gpu::DeviceOps* ops = nullptr;
  RNN_OPS_RETURN_IF_ERROR(ToTf(gpu::GetDeviceOps(&ops)));
  return ToTf(ops->Copy(place.stream, to, from, bytes));
}

absl::Status SetZeroOnGpu(const GpuPlace& place, Tensor* tensor) {
  if (tensor->TotalBytes() == 0) return absl::OkStatus();
  const gpu::DeviceOps* ops = nullptr;
  RNN_OPS_RETURN_IF_ERROR(ToTf(gpu::GetDeviceOps(&ops)));
  return ToTf(ops->Zero(place.stream, tensor->data(), tensor->TotalBytes()));
}

void PackNothingGpuKernel::DoCompute(OpKernelContext* context) {
  Tensor* packed = nullptr;
  OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({int64_t{0}}), &packed));
}

}  // namespace rnn_ops::tf_kernels
