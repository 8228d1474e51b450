// Tensors of 16-bit types: widened to float32 before the arithmetic, rounded once afterwards.
#pragma once

#include <algorithm>
#include <cstdint>

#include "Eigen/Core"
#include "cc/core/op/arg.h"
#include "cc/core/op/dtype.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/parallel.h"

namespace rnn_ops {

template <>
constexpr ElementType kElementType<Eigen::half> = ElementType::kFloat16;
template <>
constexpr ElementType kElementType<Eigen::bfloat16> = ElementType::kBFloat16;

}  // namespace rnn_ops

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

constexpr int64_t kConvertElements = 1 << 15;

template <typename From, typename To>
void Convert(const From* from, To* to, int64_t n, const ParallelFor& parallel) {
  const int64_t ns = NsToMove(n * static_cast<int64_t>(sizeof(From) + sizeof(To)));
  Parallel(parallel, CeilDiv(n, kConvertElements), ns, [&](int64_t item) {
    const int64_t begin = item * kConvertElements;
    const int64_t size = std::min(kConvertElements, n - begin);
    Eigen::Map<Eigen::Array<To, Eigen::Dynamic, 1>>(to + begin, size) =
        Eigen::Map<const Eigen::Array<From, Eigen::Dynamic, 1>>(from + begin, size)
            .template cast<To>();
  });
}

// The tensors of one call in float32, at the front of the scratch memory. With a null base of the
// arena Widened only measures.
template <typename Narrow>
class Widened {
 public:
  Widened(Arena& arena, const ParallelFor* parallel) : arena_(arena), parallel_(parallel) {}

  // A float copy of an input.
  const float* In(const Narrow* tensor, int64_t n) {
    float* wide = arena_.Take<float>(n);
    if (arena_.measuring()) return nullptr;
    Convert(tensor, wide, n, *parallel_);
    return wide;
  }
  // Memory for an output that Round() rounds. At most one call for each Arg.
  float* Out(Narrow* tensor, int64_t n) {
    float* wide = arena_.Take<float>(n);
    if (arena_.measuring()) return nullptr;
    outputs_[num_outputs_++] = {wide, tensor, n};
    return wide;
  }
  void Round() const {
    for (int i = 0; i < num_outputs_; ++i) {
      Convert(outputs_[i].wide, outputs_[i].narrow, outputs_[i].n, *parallel_);
    }
  }

 private:
  struct Output {
    const float* wide;
    Narrow* narrow;
    int64_t n;
  };
  Arena& arena_;
  const ParallelFor* parallel_;
  Output outputs_[kNumArgs];
  int num_outputs_ = 0;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
