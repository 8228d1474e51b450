// The element types of the tensors of networks.
#ifndef TF_RNN_OPS_CC_CORE_NETWORK_DTYPE_H_
#define TF_RNN_OPS_CC_CORE_NETWORK_DTYPE_H_

#include <cstdint>

namespace rnn_ops {

enum Dtype : int32_t { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 3 };

constexpr int64_t SizeOf(Dtype dtype) { return dtype == kFloat64 ? 8 : dtype == kFloat32 ? 4 : 2; }

constexpr bool IsNarrow(Dtype dtype) { return SizeOf(dtype) == 2; }

// The names that TensorFlow uses.
constexpr const char* Name(Dtype dtype) {
  switch (dtype) {
    case kFloat32:
      return "float";
    case kFloat64:
      return "double";
    case kFloat16:
      return "half";
    case kBFloat16:
      return "bfloat16";
  }
  return "unknown";
}

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_NETWORK_DTYPE_H_
