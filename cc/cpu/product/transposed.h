// Products with a transposed A, used for weight gradients: the rows of A are K.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cc/cpu/product/amx.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// A transposed: element (m, k) is rows[k][m], so A is a block of columns of a tall matrix.
template <typename T>
struct ColumnsOfA {
  static constexpr bool kGated = false;
  const T* const* rows;
  int64_t column;
  EIGEN_ALWAYS_INLINE T at(int m, int, int64_t k) const { return rows[k][column + m]; }
  // Prefetches the cache line of the next tiles. Consecutive k are a whole row apart.
  EIGEN_ALWAYS_INLINE void Prefetch(int64_t k) const {
    __builtin_prefetch(rows[k] + column + 24, 0, 2);
  }
};

// A transposed, from a copy with rows of LD elements: element (m, k) is at_column[k * LD + m].
template <typename T, int LD>
struct DenseColumnsOfA {
  static constexpr bool kGated = false;
  const T* at_column;
  EIGEN_ALWAYS_INLINE T at(int m, int, int64_t k) const { return at_column[k * LD + m]; }
  EIGEN_ALWAYS_INLINE void Prefetch(int64_t) const {}
};

// A transposed with interleaved rows, as in GatedRowsOfA.
template <typename T, int NV>
struct GatedColumnsOfA {
  static constexpr bool kGated = true;
  const T* const* rows;
  int64_t column;
  EIGEN_ALWAYS_INLINE T at(int m, int v, int64_t k) const { return rows[k][(column + m) * NV + v]; }
  EIGEN_ALWAYS_INLINE void Prefetch(int64_t k) const {
    __builtin_prefetch(rows[k] + (column + 24) * NV, 0, 2);
  }
};

// The number of rows that a weight gradient reduces at a time. With 16 registers tiles are small
// and read A often, so blocks of A's columns are copied. Without the copy the rows, which are often
// 4 KiB apart, would compete for few sets of the caches. With fewer rows the copy and a panel of B
// fit the first-level cache together.
constexpr bool kCopiesColumns = kVectorRegisters == 16;
constexpr int64_t kReductionRows = kCopiesColumns ? 128 : 256;

// Panels of a product with a transposed A, used for a weight gradient:
// c_q[m, v] (+)= sum_k rows[k][m] * b_q[k * ldb + v] for panels q below `panels`.
template <typename T, typename E>
struct TransposedGemm {
  const E* const* rows;
  int64_t depth;
  int64_t columns;  // columns of A
  int panels;
  const E* b;  // panel q is at b + q * b_stride
  int64_t b_stride;
  int64_t ldb;
  T* c;  // panel q is at c + q * c_stride, [columns][NV * V]
  int64_t c_stride;
  bool accumulate;
};

// Computes one tile: columns [i, i + M) of A. `a` reads the k from `k0` on, and `done` contains the
// partial sums of the k below `k0`, [M][NV * V].
template <typename T, int M, int NV, typename E, typename A>
void GemmTransposedTile(const TransposedGemm<T, E>& g, const A& a, int q, int64_t i, int64_t k0 = 0,
                        const T* done = nullptr) {
  constexpr int V = kLanes<T>;
  Packet<T> acc[M][NV];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      acc[m][v] = done == nullptr ? Set<T>(T(0)) : Load(done + (m * NV + v) * V);
    }
  }
  const RowsOfB<E> b = {g.b + q * g.b_stride + k0 * g.ldb, g.ldb};
  MultiplyTile<T, M, NV>(a, b, g.depth - k0, NothingAhead(), acc);
  // The sum of one call is computed before it is added to C, so that a long reduction that is split
  // into calls loses fewer bits.
  T* c = g.c + q * g.c_stride + i * NV * V;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      T* at = c + (m * NV + v) * V;
      Store(at, g.accumulate ? padd(Load(at), acc[m][v]) : acc[m][v]);
    }
  }
}

// Calls fn(q, i, m as a constant) for each tile of columns [begin, end) of A and each panel q.
template <int M, typename T, typename E, typename F>
EIGEN_ALWAYS_INLINE void ForTransposedTiles(const TransposedGemm<T, E>& g, int64_t begin,
                                            int64_t end, F&& fn) {
  for (int q = 0; q < g.panels; ++q) {
    for (int64_t i = begin; i < end; i += M) {
      WithConstant<M>(static_cast<int>(std::min<int64_t>(M, end - i)),
                      [&](auto m) { fn(q, i, m); });
    }
  }
}

// Copies columns [begin, end) of A, at most LD, to rows of LD elements.
template <int LD, typename T, typename E>
void CopyColumns(const TransposedGemm<T, E>& g, int64_t begin, int64_t end, E* copy) {
  constexpr int64_t kAhead = 12;  // the hardware prefetcher does not follow steps between rows
  constexpr int64_t kLine = 64 / sizeof(E);
  for (int64_t k = 0; k < g.depth; ++k) {
    const E* ahead = g.rows[std::min(k + kAhead, g.depth - 1)];
    for (int64_t i = begin; i < end; i += kLine) __builtin_prefetch(ahead + i);
    __builtin_prefetch(ahead + end - 1);
    if (end - begin == LD) {
      std::memcpy(copy + k * LD, g.rows[k] + begin, sizeof(E) * LD);
    } else {
      std::copy(g.rows[k] + begin, g.rows[k] + end, copy + k * LD);
    }
  }
}

#if defined(RNN_OPS_ISA_AVX512)

// Copies 16 columns of A to rows, beginning at column `column`, to a depth of at least `depth`.
// Columns beyond the last column of A are zeros.
inline void TransposeColumns(const TransposedGemm<float, Pair>& g, int64_t column, int64_t depth,
                             Pair (&strip)[kAmxRows][kReductionRows / 2]) {
  RNN_DCHECK(g.depth <= kReductionRows / 2);
  const int64_t n = std::min<int64_t>(kAmxRows, g.columns - column);
  const auto columns = static_cast<__mmask16>((1u << n) - 1);
  for (int64_t k0 = 0; k0 < depth; k0 += kAmxPairs) {
    // A pair is 32 bits of memory, so the transpose of float works for pairs.
    Block<float> block;
    for (int64_t k = 0; k < kAmxPairs; ++k) {
      block.packet[k] = k0 + k < depth ? _mm512_maskz_loadu_ps(columns, g.rows[k0 + k] + column)
                                       : Set<float>(0.0f);
    }
    ptranspose(block);
    for (int m = 0; m < kAmxRows; ++m) _mm512_storeu_ps(&strip[m][k0], block.packet[m]);
  }
}

// GemmTransposed on AMX.
template <int NV>
void GemmTransposedOnAmx(const TransposedGemm<float, Pair>& g) {
  alignas(64) Pair strip[kAmxRows][kReductionRows / 2];
  const void* rows[kAmxRows];
  for (int m = 0; m < kAmxRows; ++m) rows[m] = strip[m];
  const AmxInUse amx(kAmxRows);
  AmxSums<NV> sums;
  const int64_t done = sums.Depth(g.depth);
  for (int64_t column = 0; column < g.columns; column += kAmxRows) {
    TransposeColumns(g, column, done, strip);
    const int64_t n = std::min<int64_t>(kAmxRows, g.columns - column);
    for (int q = 0; q < g.panels; ++q) {
      sums.Multiply(rows, kAmxRows, RunsOfK::Dense(g.depth), g.b + q * g.b_stride, g.ldb);
      ForRowTiles<kTileRows<NV>>(n, [&](int64_t m, int size) {
        WithConstant<kTileRows<NV>>(size, [&](auto count) {
          GemmTransposedTile<float, decltype(count)::value, NV>(
              g, ColumnsOfA<Pair>{g.rows + done, column + m}, q, column + m, done, sums.at(m));
        });
      });
    }
  }
}

#endif

// With `Gated` the rows of A are interleaved as in GatedColumnsOfA.
template <typename T, int NV, bool Gated, typename E>
void GemmTransposed(const TransposedGemm<T, E>& g) {
  constexpr int M = kTileRows<NV>;
#if defined(RNN_OPS_ISA_AVX512)
  if constexpr (std::is_same_v<E, Pair>) {
    if (CpuPairUnit() == PairUnit::kAmx) return GemmTransposedOnAmx<NV>(g);
  }
#endif
  if constexpr (kCopiesColumns && !Gated) {
    constexpr int LD = 48;  // a multiple of every M
    static_assert(LD % M == 0);
    alignas(64) E copy[kReductionRows * LD];
    for (int64_t block = 0; block < g.columns; block += LD) {
      const int64_t end = std::min(g.columns, block + LD);
      CopyColumns<LD>(g, block, end, copy);
      ForTransposedTiles<M>(g, block, end, [&](int q, int64_t i, auto m) {
        GemmTransposedTile<T, decltype(m)::value, NV>(g, DenseColumnsOfA<E, LD>{copy + (i - block)},
                                                      q, i);
      });
    }
    return;
  }
  using Columns = std::conditional_t<Gated, GatedColumnsOfA<E, NV>, ColumnsOfA<E>>;
  // The cache lines of A in a block of columns, a whole row apart, are read from far caches once
  // for all panels. A panel of B uses the block while the block is in a near cache.
  constexpr int64_t kBlock = 8 * M;
  for (int64_t block = 0; block < g.columns; block += kBlock) {
    const int64_t end = std::min(g.columns, block + kBlock);
    ForTransposedTiles<M>(g, block, end, [&](int q, int64_t i, auto m) {
      GemmTransposedTile<T, decltype(m)::value, NV>(g, Columns{g.rows, i}, q, i);
    });
  }
}

// GemmTransposed with a dynamic number of vectors.
template <typename T, typename E>
void GemmTransposedVectors(int nv, bool gated, const TransposedGemm<T, E>& g) {
  if constexpr (std::is_same_v<T, E>) {
    // Only gate panels are gated: the panels of LSTM and of both kinds of GRU.
    if (gated && nv == 4) return GemmTransposed<T, 4, true>(g);
    if (gated && nv == 3) return GemmTransposed<T, 3, true>(g);
    if (gated) return GemmTransposed<T, 2, true>(g);
  }
  WithConstant<4>(nv, [&](auto n) { GemmTransposed<T, decltype(n)::value, false>(g); });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
