// Parallel loops on the threads of a call, and sizes with detection of overflow.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The product, or -1 if it does not fit int64. Arena::Take reports a negative size as an overflow.
inline int64_t Area(int64_t a, int64_t b) {
  int64_t product;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) return -1;
  return product;
}

// Calls fn(i) for each i in [0, n). `ns`: the time of all calls on one thread (heuristics.h).
template <typename F>
void Parallel(const ParallelFor& parallel, int64_t n, int64_t ns, F&& fn) {
  if (n <= 0) return;
  using Fn = std::remove_reference_t<F>;
  parallel.run(
      parallel.context, n, WorthThreads(parallel.threads, ns),
      [](void* arg, int64_t i) { (*static_cast<Fn*>(arg))(i); },
      const_cast<void*>(static_cast<const void*>(&fn)));
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
