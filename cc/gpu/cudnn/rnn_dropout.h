// Dropout of cuDNN: the states of its random generator, and the descriptor of a call.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "cc/core/status.h"
#include "cc/gpu/libraries/cudnn_api.h"
#include "cc/gpu/libraries/handle_pool.h"
#include "cc/gpu/problem/stack_problem.h"

namespace rnn_ops::gpu {

// The state of the random generator of one op kernel, kept between calls.

// cuDNN fills megabytes of states when it seeds a generator, so the states are kept. Each forward
// call continues the random sequence of the call before: masks depend on the seed of the first call
// and on the number of calls after it. Each device and stream has its own states. The owner of this
// object owns the memory of the states.
class DropoutGenerator {
 public:
  struct States {
    void* memory = nullptr;  // on the device; null: not allocated yet
    bool seeded = false;
  };

  DropoutGenerator() = default;
  DropoutGenerator(const DropoutGenerator&) = delete;
  DropoutGenerator& operator=(const DropoutGenerator&) = delete;

  // Hold the lock while the states are used and the work that uses them is enqueued.
  std::unique_lock<std::mutex> Lock() { return std::unique_lock<std::mutex>(mutex_); }
  // Call it with the lock held. The reference is valid as long as this object.
  States& At(int device, void* stream) { return states_[{device, stream}]; }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, void*>, States> states_;
};

// Dropout descriptors of calls.
//
// Note [Dropout states]: with a generator, its states continue from call to call. Without a
// generator, each forward call seeds new states in scratch memory. In both cases cuDNN stores the
// masks in the reserve space, so backward only needs a descriptor with states of the right size and
// any content.

// Both functions leave the descriptor null if no masks are drawn.

// Hold `lock` until the call has been enqueued.
Status SetForwardDropout(const CudnnApi& api, cudnnHandle_t handle, const RnnForwardArgs& args,
                         const RnnGpuCall& call, std::unique_lock<std::mutex>* lock,
                         DropoutDescriptor* dropout);

Status SetBackwardDropout(const CudnnApi& api, cudnnHandle_t handle, const RnnBackwardArgs& args,
                          const RnnGpuCall& call, DropoutDescriptor* dropout);

}  // namespace rnn_ops::gpu
