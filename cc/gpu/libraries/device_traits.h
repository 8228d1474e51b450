// The properties of a GPU that the choice of an algorithm depends on.
#pragma once

#include "cc/core/status.h"
#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu {

struct DeviceTraits {
  int major = 0, minor = 0;  // the compute capability
  int multiprocessors = 0;
};

// The traits of the device that `stream`, a CUstream, belongs to.
Status GetDeviceTraits(const DriverApi& driver, void* stream, DeviceTraits* traits);

}  // namespace rnn_ops::gpu
