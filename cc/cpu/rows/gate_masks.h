// Masks that multiply x or h before the product of each gate (dropout of a layer's inputs and
// states, another mask for every gate).
//
// Note [Gate masks]
// With a mask of its own for each gate a row of A is a row for each vector of a panel. The rows are
// interleaved, [K][NV], so that a register tile still reads one short piece of A for every k (see
// GatedRowsOfA). The vanilla modes have one gate: then masked rows are rows like others.
#ifndef TF_RNN_OPS_CC_CPU_ROWS_GATE_MASKS_H_
#define TF_RNN_OPS_CC_CPU_ROWS_GATE_MASKS_H_

#include <cstdint>

#include "cc/cpu/product/panels.h"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// [G, B, size], the gates as in the weights' columns.
template <typename T>
struct GateMasks {
  const T* data = nullptr;  // null: none
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

// out[k][v] = row[k] * mask of vector v's gate, for k in [begin, end).
template <typename T>
void MaskRow(const GateMasks<T>& masks, const GateOrder& order, int64_t b, const T* row,
             int64_t begin, int64_t end, T* out) {
  const int nv = order.count;
  for (int v = 0; v < nv; ++v) {
    const T* mask = masks.row(order.source[v], b);
    for (int64_t k = begin; k < end; ++k) out[k * nv + v] = row[k] * mask[k];
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_ROWS_GATE_MASKS_H_
