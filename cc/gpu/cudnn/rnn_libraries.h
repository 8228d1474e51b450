// The shared libraries and the settings for executors of the CudnnRNN family.
#pragma once

#include "cc/core/status.h"
#include "cc/gpu/cudnn/rnn_executor.h"

namespace rnn_ops::gpu {

// The driver, cuDNN, and the policy in TF_RNN_OPS_CUDNN_ALGO.
Status FindRnnParts(RnnExecutorParts* parts);

}  // namespace rnn_ops::gpu
