// Dropout descriptors of calls.
//
// Note [Dropout states]: with a generator, its states continue from call to call. Without a
// generator, each forward call seeds new states in scratch memory. In both cases cuDNN stores the
// masks in the reserve space, so backward only needs a descriptor with states of the right size and
// any content.
#pragma once

#include <mutex>

#include "cc/core/status.h"
#include "cc/gpu/libraries/cudnn_api.h"
#include "cc/gpu/libraries/descriptors.h"
#include "cc/gpu/rnn_gpu.h"

namespace rnn_ops::gpu {

// Both functions leave the descriptor null if no masks are drawn.

// Hold `lock` until the call has been enqueued.
Status SetForwardDropout(const CudnnApi& api, cudnnHandle_t handle, const RnnForwardArgs& args,
                         const RnnGpuCall& call, std::unique_lock<std::mutex>* lock,
                         DropoutDescriptor* dropout);

Status SetBackwardDropout(const CudnnApi& api, cudnnHandle_t handle, const RnnBackwardArgs& args,
                          const RnnGpuCall& call, DropoutDescriptor* dropout);

}  // namespace rnn_ops::gpu
