// Whether every training call draws the same dropout masks.
#ifndef TF_RNN_OPS_CC_CORE_NETWORK_DROPOUT_RESET_H_
#define TF_RNN_OPS_CC_CORE_NETWORK_DROPOUT_RESET_H_

#include "cc/core/status.h"

namespace rnn_ops {

// `resets`: whether every call draws the masks of the first one, from its seeds alone. `value` is
// that of TF_CUDNN_RESET_RND_GEN_STATE, read as TensorFlow reads it for cuDNN; null or empty: no.
Status ParseResetRndGenState(const char* value, bool* resets);

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_NETWORK_DROPOUT_RESET_H_
