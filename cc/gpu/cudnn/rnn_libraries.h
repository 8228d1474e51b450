// The shared libraries and the settings for executors of the CudnnRNN family.
#ifndef TF_RNN_OPS_CC_GPU_RNN_LIBRARIES_H_
#define TF_RNN_OPS_CC_GPU_RNN_LIBRARIES_H_

#include "cc/core/status.h"
#include "cc/gpu/cudnn/rnn_executor.h"

namespace rnn_ops {
namespace gpu {

// The driver, cuDNN, and the policy in TF_RNN_OPS_CUDNN_ALGO.
Status FindRnnParts(RnnExecutorParts* parts);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_RNN_LIBRARIES_H_
