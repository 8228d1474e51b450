// Whether every training call draws the same dropout masks.
#pragma once

#include "cc/core/status.h"

namespace rnn_ops {

// `value`: the value of TF_CUDNN_RESET_RND_GEN_STATE, parsed as TensorFlow parses the variable for
// cuDNN; null or empty means no. `resets`: whether every call draws the masks of the first call, so
// that the masks depend only on the seeds.
Status ParseResetRndGenState(const char* value, bool* resets);

}  // namespace rnn_ops
