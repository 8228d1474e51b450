#include "cc/gpu/layer/layer_gpu.h"

#include "cc/gpu/layer/layer_executor.h"

namespace rnn_ops {
namespace gpu {

Status LayerForward(const LayerForwardArgs& args, DeviceAllocator* allocator, void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  return RunLayerForward(libraries, args, allocator, stream);
}

Status LayerBackward(const LayerBackwardArgs& args, DeviceAllocator* allocator, void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  return RunLayerBackward(libraries, args, allocator, stream);
}

}  // namespace gpu
}  // namespace rnn_ops
