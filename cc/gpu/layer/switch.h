// Whether LayerRNN runs on GPUs.
#ifndef TF_RNN_OPS_CC_GPU_LAYER_SWITCH_H_
#define TF_RNN_OPS_CC_GPU_LAYER_SWITCH_H_

#include <cstdlib>
#include <cstring>

namespace rnn_ops {
namespace gpu {

// The environment variable TF_RNN_OPS_GPU_LAYERS=1, read when the library is loaded.
// WHY off by default: no GPU has run these kernels yet (docs/gpu.md).
inline bool LayersSwitchedOn() {
  static const bool on = [] {
    const char* const value = std::getenv("TF_RNN_OPS_GPU_LAYERS");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return on;
}

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_LAYER_SWITCH_H_
