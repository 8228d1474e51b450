// The dropout descriptors of calls.
//
// Note [Dropout states]: with a generator, its states go on from call to call; without one, each
// forward call seeds states in scratch. Either way cuDNN keeps the masks in the reserve space, so
// backward only has to give the descriptor states of the right size, of any content.
#ifndef TF_RNN_OPS_CC_GPU_RNN_DROPOUT_H_
#define TF_RNN_OPS_CC_GPU_RNN_DROPOUT_H_

#include <mutex>

#include "cc/core/status.h"
#include "cc/gpu/cudnn_api.h"
#include "cc/gpu/descriptors.h"
#include "cc/gpu/rnn_gpu.h"

namespace rnn_ops {
namespace gpu {

// Both leave the descriptor null where no mask is drawn.

// `lock` is to be held until the call is enqueued.
Status SetForwardDropout(const CudnnApi& api, cudnnHandle_t handle, const RnnForwardArgs& args,
                         const RnnGpuCall& call, std::unique_lock<std::mutex>* lock,
                         DropoutDescriptor* dropout);

Status SetBackwardDropout(const CudnnApi& api, cudnnHandle_t handle, const RnnBackwardArgs& args,
                          const RnnGpuCall& call, DropoutDescriptor* dropout);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_RNN_DROPOUT_H_
