// The element types of device tensors.
#ifndef TF_RNN_OPS_CC_GPU_DTYPE_H_
#define TF_RNN_OPS_CC_GPU_DTYPE_H_

#include <cstdint>

namespace rnn_ops {
namespace gpu {

// The numbers are cpu::KernelDtype's.
enum class Dtype : int32_t { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 3 };

constexpr int64_t SizeOf(Dtype dtype) {
  return dtype == Dtype::kFloat64 ? 8 : dtype == Dtype::kFloat32 ? 4 : 2;
}

constexpr bool IsNarrow(Dtype dtype) { return SizeOf(dtype) == 2; }

constexpr const char* Name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return "float32";
    case Dtype::kFloat64:
      return "float64";
    case Dtype::kFloat16:
      return "float16";
    case Dtype::kBFloat16:
      return "bfloat16";
  }
  return "an unknown type";
}

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_DTYPE_H_
