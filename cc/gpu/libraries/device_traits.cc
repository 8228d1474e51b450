#include "cc/gpu/libraries/device_traits.h"

namespace rnn_ops::gpu {

Status GetDeviceTraits(const DriverApi& driver, void* stream, DeviceTraits* traits) {
  ScopedContext context;
  RNN_OPS_RETURN_IF_ERROR(context.Enter(driver, static_cast<CUstream>(stream)));
  CUdevice device = 0;
  RNN_OPS_RETURN_IF_CUDA_ERROR(driver, CtxGetDevice(&device));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      driver,
      DeviceGetAttribute(&traits->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      driver,
      DeviceGetAttribute(&traits->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      driver, DeviceGetAttribute(&traits->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                 device));
  return Status();
}

}  // namespace rnn_ops::gpu
