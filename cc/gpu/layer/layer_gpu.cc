// The functions of layer_gpu.h and block_lstm_gpu.h, with the libraries of the process.
#include "cc/gpu/layer/layer_gpu.h"

#include <cstdlib>
#include <cstring>

#include "cc/gpu/layer/block_lstm_gpu.h"
#include "cc/gpu/layer/layer_executor.h"

namespace rnn_ops {
namespace gpu {
namespace {

template <typename Args>
Status RunInProcess(Status (*run)(const ProductLibraries&, const Args&, DeviceAllocator*, void*),
                    const Args& args, DeviceAllocator* allocator, void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  return run(libraries, args, allocator, stream);
}

template <typename Args>
Status RunLayer(Status (*run)(const ProductLibraries&, const Args&, DeviceAllocator*, void*),
                const Args& args, DeviceAllocator* allocator, void* stream) {
  GpuAlgorithm algorithm;
  RNN_OPS_RETURN_IF_ERROR(GetGpuAlgorithm(&algorithm));
  Args chosen = args;
  chosen.algorithm = algorithm.steps;
  return RunInProcess(run, chosen, allocator, stream);
}

}  // namespace

Status ParseGpuAlgorithm(const char* text, GpuAlgorithm* algorithm) {
  *algorithm = {};
  if (text == nullptr || *text == '\0' || std::strcmp(text, "cudnn") == 0) return Status();
  const bool persistent = std::strcmp(text, "persistent") == 0;
  if (!persistent && std::strcmp(text, "steps") != 0) {
    return InvalidArgument(
        "TF_RNN_OPS_GPU_ALGO must be one of cudnn, persistent, steps, but it is '", text, "'.");
  }
  algorithm->replaces_cudnn = true;
  algorithm->steps = persistent ? LayerAlgorithm::kPersistent : LayerAlgorithm::kSteps;
  return Status();
}

Status GetGpuAlgorithm(GpuAlgorithm* algorithm) {
  return ParseGpuAlgorithm(std::getenv("TF_RNN_OPS_GPU_ALGO"), algorithm);
}

Status LayerForward(const LayerForwardArgs& args, DeviceAllocator* allocator, void* stream) {
  return RunLayer(RunLayerForward, args, allocator, stream);
}

Status LayerBackward(const LayerBackwardArgs& args, DeviceAllocator* allocator, void* stream) {
  return RunLayer(RunLayerBackward, args, allocator, stream);
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
