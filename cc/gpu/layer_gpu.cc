// The functions of layer_gpu.h and block_lstm_gpu.h, with the shared libraries.
#include "cc/gpu/layer_gpu.h"

#include "cc/gpu/engine_choice.h"
#include "cc/gpu/steps/block_lstm_gpu.h"
#include "cc/gpu/steps/layer_executor.h"

namespace rnn_ops::gpu {
namespace {

template <typename Args>
Status RunShared(Status (*run)(const ProductLibraries&, const Args&, DeviceAllocator*, void*),
                 const Args& args, DeviceAllocator* allocator, void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  return run(libraries, args, allocator, stream);
}

template <typename Args>
Status RunLayer(Status (*run)(const ProductLibraries&, const Args&, DeviceAllocator*, void*),
                const Args& args, DeviceAllocator* allocator, void* stream) {
  EngineChoice choice;
  RNN_OPS_RETURN_IF_ERROR(ChooseEngine(args.problem, args.problem.dtype, stream, &choice));
  Args chosen = args;
  chosen.algorithm = choice.steps;
  return RunShared(run, chosen, allocator, stream);
}

}  // namespace

Status LayerForward(const LayerForwardArgs& args, DeviceAllocator* allocator, void* stream) {
  return RunLayer(RunLayerForward, args, allocator, stream);
}

Status LayerBackward(const LayerBackwardArgs& args, DeviceAllocator* allocator, void* stream) {
  return RunLayer(RunLayerBackward, args, allocator, stream);
}

Status BlockLstmForward(const BlockLstmForwardArgs& args, DeviceAllocator* allocator,
                        void* stream) {
  return RunShared(RunBlockLstmForward, args, allocator, stream);
}

Status BlockLstmBackward(const BlockLstmBackwardArgs& args, DeviceAllocator* allocator,
                         void* stream) {
  return RunShared(RunBlockLstmBackward, args, allocator, stream);
}

}  // namespace rnn_ops::gpu
