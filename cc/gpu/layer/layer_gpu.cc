#include "cc/gpu/layer/layer_gpu.h"

#include <cstdlib>
#include <cstring>

#include "cc/gpu/layer/layer_executor.h"

namespace rnn_ops {
namespace gpu {

Status ParseLayerAlgorithm(const char* text, LayerAlgorithm* algorithm) {
  *algorithm = LayerAlgorithm::kSteps;
  if (text == nullptr || std::strcmp(text, "steps") == 0) return Status();
  if (std::strcmp(text, "persistent") == 0) {
    *algorithm = LayerAlgorithm::kPersistent;
    return Status();
  }
  return InvalidArgument("TF_RNN_OPS_GPU_ALGO must be one of steps, persistent, but it is '", text,
                         "'.");
}

Status LayerForward(const LayerForwardArgs& args, DeviceAllocator* allocator, void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  LayerForwardArgs chosen = args;
  RNN_OPS_RETURN_IF_ERROR(
      ParseLayerAlgorithm(std::getenv("TF_RNN_OPS_GPU_ALGO"), &chosen.algorithm));
  return RunLayerForward(libraries, chosen, allocator, stream);
}

Status LayerBackward(const LayerBackwardArgs& args, DeviceAllocator* allocator, void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  LayerBackwardArgs chosen = args;
  RNN_OPS_RETURN_IF_ERROR(
      ParseLayerAlgorithm(std::getenv("TF_RNN_OPS_GPU_ALGO"), &chosen.algorithm));
  return RunLayerBackward(libraries, chosen, allocator, stream);
}

}  // namespace gpu
}  // namespace rnn_ops
