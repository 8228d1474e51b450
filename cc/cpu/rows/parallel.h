// Parallel loops on the threads of a call.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

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
