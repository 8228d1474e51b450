// Gradients of weights and biases: reductions over all packed rows, one panel of columns at a time.
//
// Note [Deterministic reductions]
// A panel is always reduced by one thread over blocks of kReductionRows rows in order, whatever the
// number of threads, so sums are the same to the bit.
#ifndef TF_RNN_OPS_CC_CPU_WEIGHT_GRADIENT_H_
#define TF_RNN_OPS_CC_CPU_WEIGHT_GRADIENT_H_

#include <algorithm>
#include <cstdint>

#include "cc/cpu/gemm.h"
#include "cc/cpu/panels.h"
#include "cc/cpu/sequence.h"
#include "cc/cpu/vec.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

constexpr int64_t kReductionRows = 256;
// A column of panels is read at a stride that the hardware does not foresee.
constexpr int64_t kPrefetchRows = 12;

// One factor of the reduction: rows whose columns meet some of the panel's vectors.
template <typename T>
struct ReductionFactor {
  int64_t columns;   // of the factor; 0: none
  int first_vector;  // of the panel
  int vectors;
  T* result;   // [columns][vectors * V]
  bool gated;  // the factor's rows are interleaved, see Note [Gate masks]
};

// For the `vectors` vectors at column `at` of rows [R, ld] of `gradient`, computes
// result[k] = sum over rows of row_k * gradient for both factors, and the sum of the gradient
// itself in `bias` [vectors * V] (may be null). `rows_of(row, t, j, factor)` gives the factor's
// row.
template <typename T, typename RowsOf>
void ReducePanel(const Sequence& seq, const T* gradient, int64_t ld, int64_t at, int vectors,
                 const ReductionFactor<T> (&factors)[2], T* bias, RowsOf&& rows_of) {
  constexpr int V = kLanes<T>;
  alignas(64) T block[kReductionRows * 4 * V];
  const T* rows[2][kReductionRows];
  if (bias != nullptr) std::fill(bias, bias + vectors * V, T(0));
  const int64_t blocks = std::max<int64_t>(1, CeilDiv(seq.rows, kReductionRows));
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t row0 = i * kReductionRows;
    const int64_t n = std::min(kReductionRows, seq.rows - row0);
    Packet<T> sum[4] = {Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0))};
    ForPackedRows(seq, row0, row0 + n, [&](int64_t row, int64_t t, int64_t j) {
      const int64_t k = row - row0;
      const T* ahead = gradient + std::min(row + kPrefetchRows, seq.rows - 1) * ld + at;
      for (int v = 0; v < vectors; ++v) __builtin_prefetch(ahead + v * V);
      for (int v = 0; v < vectors; ++v) {
        const Packet<T> value = Load(gradient + row * ld + at + v * V);
        Store(block + (k * vectors + v) * V, value);
        sum[v] = padd(sum[v], value);
      }
      for (int f = 0; f < 2; ++f) {
        if (factors[f].columns > 0) rows[f][k] = rows_of(row, t, j, f);
      }
    });
    for (int f = 0; f < 2; ++f) {
      const ReductionFactor<T>& factor = factors[f];
      if (factor.columns == 0) continue;
      GemmTransposedVectors<T>(factor.vectors, factor.gated, rows[f], n, factor.columns,
                               block + factor.first_vector * V, vectors * V, factor.result,
                               /*accumulate=*/i > 0);
    }
    if (bias == nullptr) continue;
    for (int v = 0; v < vectors; ++v) Store(bias + v * V, padd(Load(bias + v * V), sum[v]));
  }
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_WEIGHT_GRADIENT_H_
