#include "cc/gpu/cudnn/rnn_dropout.h"

#include "cc/gpu/cudnn/rnn_plan.h"

namespace rnn_ops::gpu {

Status SetForwardDropout(const CudnnApi& api, cudnnHandle_t handle, const RnnForwardArgs& args,
                         const RnnGpuCall& call, std::unique_lock<std::mutex>* lock,
                         DropoutDescriptor* dropout) {
  if (!HasDropout(args.problem)) return Status();
  size_t size = 0;
  RNN_OPS_RETURN_IF_CUDNN_ERROR(api, DropoutGetStatesSize(handle, &size));
  DropoutGenerator::States in_scratch;
  DropoutGenerator::States* states = &in_scratch;
  DeviceAllocator* allocator = call.scratch;
  if (args.generator != nullptr) {
    *lock = args.generator->Lock();
    states = &args.generator->At(call.device, call.stream);
    allocator = args.generator_memory;
  }
  if (states->memory == nullptr) {
    RNN_OPS_RETURN_IF_ERROR(
        AllocateScratch(allocator, "dropout states", static_cast<int64_t>(size), &states->memory));
  }
  const float rate = args.problem.dropout;
  RNN_OPS_RETURN_IF_ERROR(dropout->Create(api, "CreateDropoutDescriptor(&dropout)"));
  if (states->seeded) {
    RNN_OPS_RETURN_IF_CUDNN_ERROR(
        api, RestoreDropoutDescriptor(dropout->get(), handle, rate, states->memory, size,
                                      args.dropout_seed));
    return Status();
  }
  RNN_OPS_RETURN_IF_CUDNN_ERROR(api, SetDropoutDescriptor(dropout->get(), handle, rate,
                                                          states->memory, size, args.dropout_seed));
  states->seeded = true;
  return Status();
}

Status SetBackwardDropout(const CudnnApi& api, cudnnHandle_t handle, const RnnBackwardArgs& args,
                          const RnnGpuCall& call, DropoutDescriptor* dropout) {
  if (!HasDropout(args.problem)) return Status();
  size_t size = 0;
  RNN_OPS_RETURN_IF_CUDNN_ERROR(api, DropoutGetStatesSize(handle, &size));
  void* states = nullptr;
  RNN_OPS_RETURN_IF_ERROR(
      AllocateScratch(call.scratch, "dropout states", static_cast<int64_t>(size), &states));
  RNN_OPS_RETURN_IF_ERROR(dropout->Create(api, "CreateDropoutDescriptor(&dropout)"));
  RNN_OPS_RETURN_IF_CUDNN_ERROR(
      api, RestoreDropoutDescriptor(dropout->get(), handle, args.problem.dropout, states, size,
                                    /*seed=*/0));
  return Status();
}

}  // namespace rnn_ops::gpu
