#include "cc/gpu/cudnn/rnn_libraries.h"

#include <cstdlib>

#include "cc/gpu/launch/elementwise.h"
#include "cc/gpu/libraries/cudnn_api.h"
#include "cc/gpu/libraries/device_traits.h"
#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu {

Status FindRnnParts(RnnExecutorParts* parts) {
  const DriverApi* driver = nullptr;
  RNN_OPS_RETURN_IF_ERROR(ParseAlgoPolicy(std::getenv("TF_RNN_OPS_CUDNN_ALGO"), &parts->policy));
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&driver));
  RNN_OPS_RETURN_IF_ERROR(GetDeviceOps(&parts->ops));
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&parts->cudnn));
  parts->traits = [driver](void* stream, DeviceTraits* traits) {
    return GetDeviceTraits(*driver, stream, traits);
  };
  return Status();
}

}  // namespace rnn_ops::gpu
