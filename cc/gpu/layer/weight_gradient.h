// The gradient of a matrix of weights, as a sum of products.
#ifndef TF_RNN_OPS_CC_GPU_LAYER_WEIGHT_GRADIENT_H_
#define TF_RNN_OPS_CC_GPU_LAYER_WEIGHT_GRADIENT_H_

#include <cstdint>

#include "cc/core/network/dtype.h"
#include "cc/core/status.h"
#include "cc/gpu/product_call.h"

namespace rnn_ops {
namespace gpu {

// A 16-bit gradient is summed in float32 and rounded once.
class WeightGradient {
 public:
  WeightGradient(const ProductCall& call, Dtype dtype, void* to, int64_t size)
      : call_(call), dtype_(dtype), to_(to), size_(size) {}

  Status Begin() {
    sum_ = to_;
    if (!IsNarrow(dtype_)) return Status();
    return call_.Scratch("the gradient of weights", size_, MathType(dtype_), &sum_);
  }
  // The first product of some columns sets them, and later products are added. The sum has rows of
  // `row_size`, and `stride` elements between products.
  Status Add(const ProductSizes& sizes, const Factor& a, const Factor& b, int64_t row_size,
             int64_t stride = 0) {
    if (sizes.inner == 0) return Status();
    const Result::Update update = began_ ? Result::kAdd : Result::kSet;
    began_ = true;
    return call_.Multiply(sizes, a, b, {sum_, MathType(dtype_), update, row_size, stride});
  }
  // A product of columns of its own, from column `column` on.
  Status AddAt(int64_t column, const ProductSizes& sizes, const Factor& a, const Factor& b,
               int64_t row_size) const {
    return call_.Multiply(
        sizes, a, b,
        {At(sum_, MathType(dtype_), column), MathType(dtype_), Result::kSet, row_size});
  }
  Status End() const { return sum_ == to_ ? Status() : call_.Narrow(to_, sum_, size_); }

 private:
  const ProductCall& call_;
  const Dtype dtype_;
  void* const to_;
  const int64_t size_;
  void* sum_ = nullptr;
  bool began_ = false;
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_LAYER_WEIGHT_GRADIENT_H_
