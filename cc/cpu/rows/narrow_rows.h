// Rows of float32 as pairs of bfloat16, see Note [Pairs].
#ifndef TF_RNN_OPS_CC_CPU_ROWS_NARROW_ROWS_H_
#define TF_RNN_OPS_CC_CPU_ROWS_NARROW_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "cc/core/check.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Room for a row of n elements that NarrowRow writes in whole vectors.
constexpr int64_t NarrowRowOperands(int64_t n) { return RoundUp(n, kLanes<float>) / 2; }

#if defined(RNN_OPS_ISA_AVX512)

// Elements [begin, end) of a row; begin is a multiple of V, and what follows end up to one is zero.
inline void NarrowRow(const float* row, int64_t begin, int64_t end, Pair* out) {
  RNN_DCHECK(begin % kLanes<float> == 0);
  for (int64_t k = begin; k < end; k += kLanes<float>) {
    StoreOperands(out, k, LoadFirst(row + k, end - k));
  }
}

// All packed rows, [R][NarrowRowOperands(width)]. row_of(t, j) gives a row.
template <typename RowOf>
void NarrowRows(const Sequence& seq, int64_t width, Pair* out, const ParallelFor& parallel,
                RowOf&& row_of) {
  constexpr int64_t kRows = 64;
  const int64_t ns = NsToMove(seq.rows * width * static_cast<int64_t>(sizeof(float)));
  Parallel(parallel, CeilDiv(seq.rows, kRows), ns, [&](int64_t item) {
    const int64_t row0 = item * kRows;
    ForPackedRows(seq, row0, std::min(seq.rows, row0 + kRows),
                  [&](int64_t row, int64_t t, int64_t j) {
                    NarrowRow(row_of(t, j), 0, width, out + row * NarrowRowOperands(width));
                  });
  });
}

// Pairs of consecutive packed rows, [ceil(R / 2)][width]: the K of a weight gradient. row_of(t, j)
// gives a row. A last row without partner is paired with zeros.
template <typename RowOf>
void PairRows(const Sequence& seq, int64_t width, Pair* out, const ParallelFor& parallel,
              RowOf&& row_of) {
  constexpr int64_t kRows = 64;
  constexpr int V = kLanes<float>;
  const int64_t ld = RoundUp(width, V);
  const int64_t ns = NsToMove(seq.rows * width * static_cast<int64_t>(sizeof(float)));
  Parallel(parallel, CeilDiv(seq.rows, kRows), ns, [&](int64_t item) {
    const int64_t row0 = item * kRows;
    const int64_t row1 = std::min(seq.rows, row0 + kRows);
    const float* first = nullptr;
    ForPackedRows(seq, row0, row1, [&](int64_t row, int64_t t, int64_t j) {
      const float* x = row_of(t, j);
      if (row % 2 == 0 && row + 1 < row1) {
        first = x;
        return;
      }
      Pair* pairs = out + row / 2 * ld;
      for (int64_t k = 0; k < width; k += V) {
        const Packet<float> value = LoadFirst(x + k, width - k);
        if (row % 2 == 0) {
          StorePairs(pairs + k, value, Set<float>(0.0f));
        } else {
          StorePairs(pairs + k, LoadFirst(first + k, width - k), value);
        }
      }
    });
  });
}

#endif

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_ROWS_NARROW_ROWS_H_
