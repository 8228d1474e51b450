#include "cc/gpu/rnn_gpu.h"

#include "cc/gpu/cudnn/rnn_executor.h"
#include "cc/gpu/engine_choice.h"
#include "cc/gpu/launch/device_ops.h"
#include "cc/gpu/libraries/cudnn_api.h"
#include "cc/gpu/libraries/driver_api.h"
#include "cc/gpu/problem/stack_problem.h"
#include "cc/gpu/steps/layer.h"
#include "cc/gpu/steps/persistent_steps.h"
#include "cc/gpu/steps/stack.h"

namespace rnn_ops::gpu {
namespace {

struct SharedExecutor {
  Status status;
  RnnExecutor* executor = nullptr;
};

Status MakeExecutor(RnnExecutor** executor) {
  RnnExecutorParts parts;
  RNN_OPS_RETURN_IF_ERROR(FindRnnParts(&parts));
  *executor = new RnnExecutor(parts);
  return Status();
}

// Never destroyed: kernels may run while the process exits, and CUDA may have been unloaded by
// then.
Status GetExecutor(RnnExecutor** executor) {
  static const SharedExecutor* const shared = [] {
    auto* made = new SharedExecutor;
    made->status = MakeExecutor(&made->executor);
    return made;
  }();
  *executor = shared->executor;
  return shared->status;
}

Status ChooseEngineOf(const StackProblem& problem, void* stream, EngineChoice* choice) {
  return ChooseEngine(problem, problem.dtype, KernelKind::kUsual, stream, choice);
}

}  // namespace

Status RnnForward(const RnnForwardArgs& args, const RnnGpuCall& call) {
  if (HasNoSteps(args.problem)) {  // needs no cuDNN
    const DeviceOps* ops = nullptr;
    RNN_OPS_RETURN_IF_ERROR(GetDeviceOps(&ops));
    return ForwardWithoutSteps(*ops, args, call);
  }
  EngineChoice choice;
  RNN_OPS_RETURN_IF_ERROR(ChooseEngineOf(args.problem, call.stream, &choice));
  if (choice.replaces_cudnn) {
    ProductLibraries libraries;
    RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
    return RunStackForward(libraries, choice.forward, args, call);
  }
  RnnExecutor* executor = nullptr;
  RNN_OPS_RETURN_IF_ERROR(GetExecutor(&executor));
  return executor->Forward(args, call);
}

Status RnnBackward(const RnnBackwardArgs& args, const RnnGpuCall& call) {
  if (HasNoSteps(args.problem)) {  // needs no cuDNN
    const DeviceOps* ops = nullptr;
    RNN_OPS_RETURN_IF_ERROR(GetDeviceOps(&ops));
    return BackwardWithoutSteps(*ops, args, call);
  }
  if (WithoutFlag(args.algorithm) == kStackAlgorithm) {
    EngineChoice choice;
    ProductLibraries libraries;
    RNN_OPS_RETURN_IF_ERROR(ChooseEngineOf(args.problem, call.stream, &choice));
    RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
    return RunStackBackward(libraries, choice.backward, args, call);
  }
  RnnExecutor* executor = nullptr;
  RNN_OPS_RETURN_IF_ERROR(GetExecutor(&executor));
  return executor->Backward(args, call);
}

Status RnnReserveBytes(const StackProblem& problem, int device, int64_t* bytes) {
  *bytes = 0;
  if (problem.max_time == 0 || problem.batch == 0) return Status();
  RnnExecutor* executor = nullptr;
  const DriverApi* driver = nullptr;
  ScopedPrimaryContext context;
  EngineChoice choice;
  EnginePolicy policy = EnginePolicy::kHeuristic;
  RNN_OPS_RETURN_IF_ERROR(GetEnginePolicy(&policy));
  if (policy == EnginePolicy::kHeuristic || policy == EnginePolicy::kCudnn) {
    RNN_OPS_RETURN_IF_ERROR(GetLibrary(&driver));
    RNN_OPS_RETURN_IF_ERROR(context.Enter(*driver, device));
  }
  RNN_OPS_RETURN_IF_ERROR(ChooseEngineOf(problem, /*stream=*/nullptr, &choice));
  if (choice.replaces_cudnn) {
    *bytes = StackReserveBytes(problem);
    return Status();
  }
  RNN_OPS_RETURN_IF_ERROR(GetExecutor(&executor));
  return executor->ReserveBytes(problem, device, bytes);
}

Status CudnnVersion(int64_t* version) {
  const CudnnApi* cudnn = nullptr;
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&cudnn));
  *version = static_cast<int64_t>(cudnn->GetVersion());
  return Status();
}

// LayerRNN and BlockLSTMV2, with the shared libraries.

namespace {

template <typename Args>
Status RunShared(Status (*run)(const ProductLibraries&, const Args&, DeviceAllocator*, void*),
                 const Args& args, DeviceAllocator* allocator, void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  return run(libraries, args, allocator, stream);
}

Status ChooseEngineOf(const LayerProblem& problem, void* stream, EngineChoice* choice) {
  const KernelKind kind = IsGeneral(problem) ? KernelKind::kGeneral : KernelKind::kUsual;
  return ChooseEngine(problem, problem.dtype, kind, stream, choice);
}

}  // namespace

int64_t LayerReserveBytes(const LayerProblem& problem) { return LayerReserve(problem).bytes; }

Status LayerForward(const LayerForwardArgs& args, DeviceAllocator* allocator, void* stream) {
  EngineChoice choice;
  RNN_OPS_RETURN_IF_ERROR(ChooseEngineOf(args.problem, stream, &choice));
  LayerForwardArgs chosen = args;
  chosen.algorithm = choice.forward;
  return RunShared(RunLayerForward, chosen, allocator, stream);
}

Status LayerBackward(const LayerBackwardArgs& args, DeviceAllocator* allocator, void* stream) {
  EngineChoice choice;
  RNN_OPS_RETURN_IF_ERROR(ChooseEngineOf(args.problem, stream, &choice));
  LayerBackwardArgs chosen = args;
  chosen.algorithm = choice.backward;
  return RunShared(RunLayerBackward, chosen, allocator, stream);
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
