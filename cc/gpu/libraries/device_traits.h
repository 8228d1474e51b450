// The properties of a GPU that the choice of an algorithm depends on.
#ifndef TF_RNN_OPS_CC_GPU_DEVICE_TRAITS_H_
#define TF_RNN_OPS_CC_GPU_DEVICE_TRAITS_H_

#include "cc/core/status.h"
#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops {
namespace gpu {

struct DeviceTraits {
  int major = 0, minor = 0;  // the compute capability
  int multiprocessors = 0;
};

// The traits of the device that `stream`, a CUstream, belongs to.
Status GetDeviceTraits(const DriverApi& driver, void* stream, DeviceTraits* traits);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_DEVICE_TRAITS_H_
