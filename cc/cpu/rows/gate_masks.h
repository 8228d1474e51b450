// Masks that multiply x or h before the product of each gate (dropout of a layer's inputs and
// states, another mask for every gate).
//
// Note [Gate masks]
// With a mask of its own for each gate a row of A is a row for each vector of a panel. The rows are
// interleaved, [K][NV], so that a register tile still reads one short piece of A for every k (see
// GatedRowsOfA). The vanilla modes have one gate: then masked rows are rows like others.
#ifndef TF_RNN_OPS_CC_CPU_ROWS_GATE_MASKS_H_
#define TF_RNN_OPS_CC_CPU_ROWS_GATE_MASKS_H_

#include <algorithm>
#include <cstdint>

#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"

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

// The masked rows of all packed rows, [R][masks.size * order.count]. row_of(t, j) gives a row.
template <typename T, typename RowOf>
void MaskRows(const Sequence& seq, const GateMasks<T>& masks, const GateOrder& order, T* out,
              const ParallelFor& parallel, RowOf&& row_of) {
  constexpr int64_t kRows = 64;
  const int64_t width = masks.size * order.count;
  const int64_t ns = NsToMove(seq.rows * width * static_cast<int64_t>(sizeof(T)));
  Parallel(parallel, CeilDiv(seq.rows, kRows), ns, [&](int64_t item) {
    const int64_t row0 = item * kRows;
    ForPackedRows(
        seq, row0, std::min(seq.rows, row0 + kRows), [&](int64_t row, int64_t t, int64_t j) {
          MaskRow(masks, order, seq.perm[j], row_of(t, j), 0, masks.size, out + row * width);
        });
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_ROWS_GATE_MASKS_H_
