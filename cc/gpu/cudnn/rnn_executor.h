// Runs the ops of the CudnnRNN family through a table of cuDNN functions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/cudnn/rnn_algorithms.h"
#include "cc/gpu/cudnn/rnn_plan.h"
#include "cc/gpu/launch/device_ops.h"
#include "cc/gpu/libraries/cudnn_api.h"
#include "cc/gpu/libraries/driver_api.h"
#include "cc/gpu/libraries/handle_pool.h"
#include "cc/gpu/memory/device_allocator.h"
#include "cc/gpu/problem/stack_problem.h"

namespace rnn_ops::gpu {

// True if no sequence has a time step, so that cuDNN has nothing to do.
bool HasNoSteps(const StackProblem& problem);

// Calls without steps: the final states are the initial states, and the gradients pass through.
Status ForwardWithoutSteps(const DeviceOps& ops, const RnnForwardArgs& args,
                           const RnnGpuCall& call);
Status BackwardWithoutSteps(const DeviceOps& ops, const RnnBackwardArgs& args,
                            const RnnGpuCall& call);

// The libraries and settings of an executor. All of them must outlive the executor.
struct RnnExecutorParts {
  const CudnnApi* cudnn = nullptr;
  const DeviceOps* ops = nullptr;
  AlgoPolicy policy = AlgoPolicy::kHeuristic;
  // Returns the traits of the device of a stream.
  std::function<Status(void* stream, DeviceTraits* traits)> traits;
  size_t cached_plans = 256;
};

// Thread-safe. Implements the functions of rnn_gpu.h.
class RnnExecutor {
 public:
  explicit RnnExecutor(RnnExecutorParts parts);

  Status Forward(const RnnForwardArgs& args, const RnnGpuCall& call);
  Status Backward(const RnnBackwardArgs& args, const RnnGpuCall& call);
  // The context of `device` must be current.
  Status ReserveBytes(const StackProblem& problem, int device, int64_t* bytes);

 private:
  Status GetTraits(const RnnGpuCall& call, DeviceTraits* traits);
  Status GetPlan(const StackProblem& problem, const RnnGpuCall& call, cudnnHandle_t handle,
                 const RnnChoice& choice, Pass pass, const void* params, RnnPlan::Pointer* plan);
  Status RunForward(const RnnForwardArgs& args, const RnnGpuCall& call, cudnnHandle_t handle,
                    const RnnChoice& choice);
  Status RunBackward(const RnnBackwardArgs& args, const RnnGpuCall& call, cudnnHandle_t handle,
                     const RnnChoice& choice);
  // The reserve space that both passes of `choice` need, for a call with `descriptors`.
  Status GetReserveBytes(const StackProblem& problem, const RnnGpuCall& call, cudnnHandle_t handle,
                         const RnnChoice& choice, const RnnCallDescriptors& descriptors,
                         const std::vector<int>& lengths, const void* params, int64_t* bytes);
  // The maximum over all choices and all lengths.
  Status LargestReserveBytes(const StackProblem& problem, const RnnGpuCall& call,
                             cudnnHandle_t handle, int64_t* bytes);
  // Runs one step forward and, in training, backward in scratch memory, to test whether cuDNN
  // accepts `choice`.
  Status Try(const RnnForwardArgs& args, const RnnGpuCall& call, cudnnHandle_t handle,
             const RnnChoice& choice, RecyclingAllocator* scratch);

  const RnnExecutorParts parts_;
  HandlePool handles_;
  RnnPlanCache plans_;
  RnnChoiceTable choices_;
  std::mutex traits_mutex_;
  std::map<int, DeviceTraits> traits_;  // the key is the device
};

// The shared libraries and the settings for executors of the CudnnRNN family.

// The driver, cuDNN, and the policy in TF_RNN_OPS_CUDNN_ALGO.
Status FindRnnParts(RnnExecutorParts* parts);

}  // namespace rnn_ops::gpu
