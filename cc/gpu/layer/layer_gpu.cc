// The functions of layer_gpu.h and block_lstm_gpu.h, with the libraries of the process.
#include "cc/gpu/layer/layer_gpu.h"

#include <cstdlib>
#include <cstring>

#include "cc/gpu/layer/block_lstm_gpu.h"
#include "cc/gpu/layer/layer_executor.h"

namespace rnn_ops {
namespace gpu {
namespace {

constexpr char kAlgorithmVariable[] = "TF_RNN_OPS_GPU_ALGO";

template <typename Args>
Status RunInProcess(Status (*run)(const ProductLibraries&, const Args&, DeviceAllocator*, void*),
                    const Args& args, DeviceAllocator* allocator, void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  return run(libraries, args, allocator, stream);
}

}  // namespace

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
  LayerForwardArgs chosen = args;
  RNN_OPS_RETURN_IF_ERROR(ParseLayerAlgorithm(std::getenv(kAlgorithmVariable), &chosen.algorithm));
  return RunInProcess(RunLayerForward, chosen, allocator, stream);
}

Status LayerBackward(const LayerBackwardArgs& args, DeviceAllocator* allocator, void* stream) {
  LayerBackwardArgs chosen = args;
  RNN_OPS_RETURN_IF_ERROR(ParseLayerAlgorithm(std::getenv(kAlgorithmVariable), &chosen.algorithm));
  return RunInProcess(RunLayerBackward, chosen, allocator, stream);
}

Status BlockLstmForward(const BlockLstmForwardArgs& args, DeviceAllocator* allocator,
                        void* stream) {
  return RunInProcess(RunBlockLstmForward, args, allocator, stream);
}

Status BlockLstmBackward(const BlockLstmBackwardArgs& args, DeviceAllocator* allocator,
                         void* stream) {
  return RunInProcess(RunBlockLstmBackward, args, allocator, stream);
}

}  // namespace gpu
}  // namespace rnn_ops
