// Masks that multiply x or h before the product of each gate: dropout of the inputs and states of a
// layer, with a separate mask for every gate.
//
// Note [Gate masks]
// With a separate mask for each gate there is a separate row of A for each vector of a panel. These
// rows are interleaved, [K][NV], so that a register tile still reads one short piece of A for every
// k (see GatedRowsOfA). The vanilla modes have one gate, so their masked rows are not interleaved.
#pragma once

#include <cstdint>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// [G, B, size]. The gates have the order of the weights' columns.
template <typename T>
struct GateMasks {
  const T* data = nullptr;  // null: no masks
  int64_t batch = 0;
  int64_t size = 0;

  explicit operator bool() const { return data != nullptr; }
  const T* row(int gate, int64_t b) const { return data + (gate * batch + b) * size; }
};

// row *= mask, for k in [begin, end).
template <typename T>
void ScaleRow(const T* mask, int64_t begin, int64_t end, T* row) {
  for (int64_t k = begin; k < end; ++k) row[k] *= mask[k];
}

// out[k][v] = row[k] * mask of the gate of vector v, for k in [begin, end).
template <typename T>
void MaskRow(const GateMasks<T>& masks, const GateOrder& order, int64_t b, const T* row,
             int64_t begin, int64_t end, T* out) {
  const int nv = order.count;
  for (int v = 0; v < nv; ++v) {
    const T* mask = masks.row(order.source[v], b);
    for (int64_t k = begin; k < end; ++k) out[k * nv + v] = row[k] * mask[k];
  }
}

// The masks of x or of h for each gate, if the call has masks.
template <typename T>
GateMasks<T> MasksOf(const RnnProblem& p, const CallTensors& t, Arg arg) {
  if (arg == Arg::input_mask && p.input_masked) return {t.in<T>(arg), p.batch, p.input_size};
  if (arg == Arg::recurrent_mask && p.recurrent_masked) {
    return {t.in<T>(arg), p.batch, p.hidden_size()};
  }
  return {};
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
