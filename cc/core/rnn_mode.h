// The cells of the stacks.
#ifndef TF_RNN_OPS_CC_CORE_RNN_MODE_H_
#define TF_RNN_OPS_CC_CORE_RNN_MODE_H_

#include <cstdint>

namespace rnn_ops {

// The numbers are cuDNN's.
enum class RnnMode : int32_t { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_RNN_MODE_H_
