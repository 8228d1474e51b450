// The cells, and the functions that their gates apply.
#ifndef TF_RNN_OPS_CC_CORE_RNN_MODE_H_
#define TF_RNN_OPS_CC_CORE_RNN_MODE_H_

#include <cstdint>

namespace rnn_ops {

// The numbers are cuDNN's, but for the last two, which only LayerRNN has.
enum class RnnMode : int32_t {
  kRelu = 0,
  kTanh = 1,
  kLstm = 2,
  kGru = 3,
  kGruResetBefore = 4,
  kVanilla = 5,  // one gate with any activation
};

enum class Activation : int16_t {
  kTanh = 0,
  kSigmoid = 1,
  kHardSigmoid = 2,        // x / 6 + 1/2 between 0 and 1, of Keras 3
  kHardSigmoidKeras2 = 3,  // x / 5 + 1/2 between 0 and 1, of Keras 1 and 2
  kRelu = 4,
  kLinear = 5,
};

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_RNN_MODE_H_
