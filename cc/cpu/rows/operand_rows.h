// Rows of a tensor as operands of a product, and 16-bit tensors as float32.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "Eigen/Core"
#include "cc/core/check.h"
#include "cc/core/checked_math.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/op_spec.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/masks.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops {

// Tensors of 16-bit types: widened to float32 before the arithmetic, rounded once afterwards.

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

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Rows of x and h as the operands of products.
//
// Note [Operand rows]
// A product reads rows of x and h directly or reads copies of the rows. The copies are:
//
//                    with masks              as pairs of bfloat16                as quads of int8
//                    (Note [Gate masks])     (Note [Pairs])                      (Note [Quads])
//   the time loop    a copy for each gate    rounded rows                        quantized rows
//   weight gradient  a copy for each gate    pairs of consecutive rows (its K)   none

// Allocates n operands.
template <typename T>
char* TakeOperands(Arena& arena, OperandType type, int64_t n) {
  return arena.Take<char>(Area(n, OperandBytes<T>(type)));
}

// Rows of operands, addressed in bytes.
using OperandRows = RowMap<const char>;

template <typename T>
OperandRows AsOperands(const RowMap<const T>& rows) {
  return {reinterpret_cast<const char*>(rows.base), rows.ld * int64_t{sizeof(T)}, rows.row_t,
          rows.row_j};
}

// The number of operands of the copy of a row; 0: products read the row itself.
template <typename T>
int64_t CopyOperands(OperandType type, int64_t width, const GateOrder& order, bool masked) {
  if (type != OperandType::kExact) return OperandsOf(type, RoundUp(width, kLanes<T>));
  return masked ? Area(width, order.count) : 0;
}

// Writes elements [begin, end) of the copy of a row of x or h, for sequence b of the batch. `begin`
// is a multiple of V. In a rounded row the elements from `end` to a multiple of V are zero. Rows
// can only be quantized whole.
template <typename T>
void CopyRow(OperandType type, const GateMasks<T>& masks, const GateOrder& order, int64_t b,
             const T* row, int64_t begin, int64_t end, void* out) {
  WithOperand<T>(type, [&](auto e) {
    using E = decltype(e);
    E* const operands = static_cast<E*>(out);
    if constexpr (std::is_same_v<E, Pair>) {
      RoundRow(row, begin, end, operands);
    } else if constexpr (std::is_same_v<E, Quad>) {
      RNN_DCHECK(begin == 0);
      QuantizeRow(row, end, operands);
    } else {
      MaskRow(masks, order, b, row, begin, end, operands);
    }
  });
}

// Writes the copies of all packed rows. row_of(t, j) returns a row.
template <typename T, typename RowOf>
void CopyRows(const Sequence& seq, OperandType type, const GateMasks<T>& masks,
              const GateOrder& order, int64_t width, void* out, const ParallelFor& parallel,
              RowOf&& row_of) {
  const int64_t ld = CopyOperands<T>(type, width, order, /*masked=*/true);
  const int64_t ld_bytes = ld * OperandBytes<T>(type);
  const int64_t ns = NsToMove(seq.rows * ld * PerOperand(type) * static_cast<int64_t>(sizeof(T)));
  ParallelRows(seq, ns, parallel, [&](int64_t row, int64_t t, int64_t j) {
    CopyRow(type, masks, order, seq.perm[j], row_of(t, j), 0, width,
            static_cast<char*>(out) + row * ld_bytes);
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
template <typename T>
int64_t ReductionCopyOperands(OperandType type, int64_t rows, int64_t width, const GateOrder& order,
                              bool masked) {
  if (type != OperandType::kExact) {
    return Area(CeilDiv(rows, PerOperand(type)), RoundUp(width, kLanes<T>));
  }
  return masked ? Area(rows, Area(width, order.count)) : 0;
}

template <typename T, typename RowOf>
void CopyReductionRows(const Sequence& seq, OperandType type, const GateMasks<T>& masks,
                       const GateOrder& order, int64_t width, void* out,
                       const ParallelFor& parallel, RowOf&& row_of) {
  WithGradientOperand<T>(type, [&](auto e) {
    using E = decltype(e);
    if constexpr (std::is_same_v<E, Pair>) {
      PairRows(seq, width, static_cast<E*>(out), parallel, row_of);
    } else if (masks) {
      CopyRows(seq, type, masks, order, width, out, parallel, row_of);
    }
  });
}

// Row `row` of these copies, beginning at column `first`.
template <typename E>
const E* ReductionCopy(const E* copies, int64_t row, int64_t width, const GateOrder& order,
                       int64_t first) {
  if constexpr (kIsGroup<E>) {
    return copies + row * RoundUp(width, kOperandLanes<E>) + first;
  } else {
    return copies + (row * width + first) * order.count;
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
