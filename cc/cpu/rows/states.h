// Rows of the states before and after the sequences.
#pragma once

#include <cstdint>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Rows of h0, c0, h_n, c_n: [L*D, B, size] or [B, L*D, size].
template <typename T>
struct StateRows {
  T* base = nullptr;  // null: no states
  int64_t size = 0;
  int64_t layer_stride = 0;  // in rows
  int64_t batch_stride = 0;  // in rows
  explicit operator bool() const { return base != nullptr; }
  T* at(int64_t pseudo_layer, int64_t b) const {
    return base + (pseudo_layer * layer_stride + b * batch_stride) * size;
  }
};

template <typename T>
StateRows<T> MakeStateRows(const RnnProblem& p, T* base, int64_t size) {
  return p.time_major ? StateRows<T>{base, size, p.batch, 1}
                      : StateRows<T>{base, size, 1, p.num_pseudo_layers()};
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
