// Rows of x and h as the operands of products.
//
// Note [Operand rows]
// A product reads rows of x and h directly or reads copies of the rows. Only this file
// distinguishes these cases. The copies are:
//
//                    with masks              as pairs of bfloat16                as quads of int8
//                    (Note [Gate masks])     (Note [Pairs])                      (Note [Quads])
//   the time loop    a copy for each gate    rounded rows                        quantized rows
//   weight gradient  a copy for each gate    pairs of consecutive rows (its K)   none
#ifndef TF_RNN_OPS_CC_CPU_ROWS_OPERAND_ROWS_H_
#define TF_RNN_OPS_CC_CPU_ROWS_OPERAND_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "cc/core/check.h"
#include "cc/cpu/rows/gate_masks.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The number of operands of the copy of a row; 0: products read the row itself.
template <typename T, typename E>
int64_t CopyOperands(int64_t width, const GateOrder& order, bool masked) {
  if constexpr (!Operands<T, E>::kExact) return OperandsOf<E>(RoundUp(width, kLanes<T>));
  return masked ? Area(width, order.count) : 0;
}

// Writes elements [begin, end) of the copy of a row of x or h, for sequence b of the batch. `begin`
// is a multiple of V. In a rounded row the elements from `end` to a multiple of V are zero. Rows
// can only be quantized whole.
template <typename T, typename E>
void CopyRow(const GateMasks<T>& masks, const GateOrder& order, int64_t b, const T* row,
             int64_t begin, int64_t end, E* out) {
  if constexpr (Operands<T, E>::kRounded) {
    RNN_DCHECK(begin % kLanes<T> == 0);
    for (int64_t k = begin; k < end; k += kLanes<T>) {
      StoreOperands(out, k, LoadFirst(row + k, end - k));
    }
  } else if constexpr (Operands<T, E>::kQuantized) {
    RNN_DCHECK(begin == 0);
    QuantizeRow(row, end, out);
  } else {
    MaskRow(masks, order, b, row, begin, end, out);
  }
}

// Writes the copies of all packed rows. row_of(t, j) returns a row.
template <typename T, typename E, typename RowOf>
void CopyRows(const Sequence& seq, const GateMasks<T>& masks, const GateOrder& order, int64_t width,
              E* out, const ParallelFor& parallel, RowOf&& row_of) {
  const int64_t ld = CopyOperands<T, E>(width, order, /*masked=*/true);
  const int64_t ns = NsToMove(seq.rows * ld * kPerOperand<E> * static_cast<int64_t>(sizeof(T)));
  ParallelRows(seq, ns, parallel, [&](int64_t row, int64_t t, int64_t j) {
    CopyRow(masks, order, seq.perm[j], row_of(t, j), 0, width, out + row * ld);
  });
}

#if defined(RNN_OPS_ISA_AVX512)

// Writes pairs of consecutive packed rows, [ceil(R / 2)][width]: the K of a weight gradient.
// row_of(t, j) returns a row. A last row without partner is paired with zeros.
template <typename RowOf>
void PairRows(const Sequence& seq, int64_t width, Pair* out, const ParallelFor& parallel,
              RowOf&& row_of) {
  constexpr int V = kLanes<float>;
  const int64_t ld = RoundUp(width, V);
  const int64_t ns = NsToMove(seq.rows * width * static_cast<int64_t>(sizeof(float)));
  Parallel(parallel, CeilDiv(seq.rows, kParallelRows), ns, [&](int64_t item) {
    const int64_t row0 = item * kParallelRows;
    const int64_t row1 = std::min(seq.rows, row0 + kParallelRows);
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

// The number of operands of the copies that a weight gradient reads instead of the rows of x or h;
// 0: no copies.
template <typename T, typename E>
int64_t ReductionCopyOperands(int64_t rows, int64_t width, const GateOrder& order, bool masked) {
  if constexpr (Operands<T, E>::kRounded) {
    return Area(CeilDiv(rows, kPerOperand<E>), RoundUp(width, kLanes<T>));
  }
  return masked ? Area(rows, Area(width, order.count)) : 0;
}

template <typename T, typename E, typename RowOf>
void CopyReductionRows(const Sequence& seq, const GateMasks<T>& masks, const GateOrder& order,
                       int64_t width, E* out, const ParallelFor& parallel, RowOf&& row_of) {
  if constexpr (Operands<T, E>::kRounded) {
    PairRows(seq, width, out, parallel, row_of);
  } else if (masks) {
    CopyRows(seq, masks, order, width, out, parallel, row_of);
  }
}

// Row `row` of these copies, beginning at column `first`.
template <typename T, typename E>
const E* ReductionCopy(const E* copies, int64_t row, int64_t width, const GateOrder& order,
                       int64_t first) {
  if constexpr (Operands<T, E>::kRounded) return copies + row * RoundUp(width, kLanes<T>) + first;
  return copies + (row * width + first) * order.count;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_ROWS_OPERAND_ROWS_H_
