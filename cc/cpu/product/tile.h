// The register tile: some rows of A times one panel of B, the innermost loops of every product.
#ifndef TF_RNN_OPS_CC_CPU_PRODUCT_TILE_H_
#define TF_RNN_OPS_CC_CPU_PRODUCT_TILE_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Rows of one register tile with NV vectors of columns: M * NV accumulators, NV vectors of B and
// one broadcast of A fit the registers, and there are enough accumulators to hide FMA latency.
template <int NV>
constexpr int kTileRows = std::min(8, (kVectorRegisters == 32 ? 24 : 12) / NV);

// A by rows: element (m, k) is row[m][k].
template <typename T, int M>
struct RowsOfA {
  static constexpr bool kGated = false;
  const T* row[M];
  EIGEN_ALWAYS_INLINE T at(int m, int, int64_t k) const { return row[m][k]; }
  // Rows are read in order, which the hardware foresees.
  EIGEN_ALWAYS_INLINE void Prefetch(int64_t) const {}
};

// A by rows with an A of its own for each of the NV vectors, interleaved: element (m, k) of vector
// v is row[m][k * NV + v]. See gate_masks.h.
template <typename T, int M, int NV>
struct GatedRowsOfA {
  static constexpr bool kGated = true;
  const T* row[M];
  EIGEN_ALWAYS_INLINE T at(int m, int v, int64_t k) const { return row[m][k * NV + v]; }
  EIGEN_ALWAYS_INLINE void Prefetch(int64_t) const {}
};

// acc[v] += a(m, k) * b[v]: one row and one k of a tile.
template <typename T, typename E, int NV, typename A>
EIGEN_ALWAYS_INLINE void MultiplyRow(const A& a, int m, int64_t k,
                                     const typename Operand<E>::Vector (&b)[NV],
                                     Packet<T> (&acc)[NV]) {
  using O = Operand<E>;
  if constexpr (A::kGated) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[v] = O::MultiplyAdd(O::Set(a.at(m, v, k)), b[v], acc[v]);
  } else {
    const typename O::Vector am = O::Set(a.at(m, 0, k));
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[v] = O::MultiplyAdd(am, b[v], acc[v]);
  }
}

// What a tile asks of memory while it computes.
//
// Note [Fetching ahead]
// All row tiles pass over one slice of B, which the first of them brings into the second-level
// cache at the pace of memory while the others leave memory idle. So each tile asks for a part of
// the slice that comes next, from `at` on, `step` bytes with every k. One or two tiles of 32
// registers leave memory no rest: asking then delays what the hardware fetches by itself. On a Zen
// 5, 2026-11, one thread and two, (1,8,512,512) takes 8 to 10 % less time without and
// (10,8,512,512) 2 to 4 %. With three tiles and more asking gains up to 9 %, and with 16 registers
// 4 % from two on.
struct Ahead {
  const char* at;
  int64_t step;
  EIGEN_ALWAYS_INLINE void Fetch(int64_t k) const { __builtin_prefetch(at + k * step, 0, 2); }
};
struct NothingAhead {
  EIGEN_ALWAYS_INLINE void Fetch(int64_t) const {}
};

constexpr int64_t kFewestTilesToFetch = kVectorRegisters == 32 ? 3 : 1;

// The part of the tile that begins at `row` of `rows`; slices have `depth` rows of `row_bytes`.
inline Ahead AheadOf(const void* next, int64_t depth, int64_t row_bytes, int64_t row, int64_t rows,
                     int64_t tiles) {
  if (tiles < kFewestTilesToFetch) return {static_cast<const char*>(next), 0};
  const int64_t step = std::min<int64_t>(64, CeilDiv(row_bytes, tiles));
  return {static_cast<const char*>(next) + row * tiles / rows * depth * step, step};
}

// acc[m][v] += a(m, k) * b[v * V ...]: one k of a tile.
template <typename T, int M, int NV, typename E, typename A>
EIGEN_ALWAYS_INLINE void MultiplyStep(const A& a, int64_t k, const E* b, Packet<T> (&acc)[M][NV]) {
  typename Operand<E>::Vector bv[NV];
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) bv[v] = Operand<E>::Load(b + v * kLanes<T>);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) MultiplyRow<T, E, NV>(a, m, k, bv, acc[m]);
}

// acc[m][v] += sum_k a(m, k) * b[k * ldb + v * V ...], k in order, one fused step each.
template <typename T, int M, int NV, typename E, typename A, typename Next>
EIGEN_ALWAYS_INLINE void MultiplyTile(const A& a, const E* b, int64_t ldb, int64_t depth,
                                      const Next& next, Packet<T> (&acc)[M][NV]) {
  for (int64_t k = 0; k < depth; ++k, b += ldb) {
    a.Prefetch(k);
    next.Fetch(k);
    MultiplyStep<T, M, NV>(a, k, b, acc);
  }
}

// The same with the products of every `U`th k in sums of their own, added up at the end: one or two
// rows alone have too few sums to hide the latency of an addition.
template <typename T, int U, int M, int NV, typename E, typename A>
EIGEN_ALWAYS_INLINE void MultiplyTileSplit(const A& a, const E* b, int64_t ldb, int64_t depth,
                                           Packet<T> (&acc)[M][NV]) {
  Packet<T> part[U][M][NV];
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) part[u][m][v] = Set<T>(T(0));
    }
  }
  int64_t k = 0;
  for (; k + U <= depth; k += U, b += U * ldb) {
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) MultiplyStep<T, M, NV>(a, k + u, b + u * ldb, part[u]);
  }
  for (; k < depth; ++k, b += ldb) MultiplyStep<T, M, NV>(a, k, b, part[0]);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      Packet<T> sum = part[0][m][v];
#pragma GCC unroll 8
      for (int u = 1; u < U; ++u) sum = padd(sum, part[u][m][v]);
      acc[m][v] = padd(acc[m][v], sum);
    }
  }
}

// Selects the order of summation, and so the rounding. It depends on the batch of the problem
// alone, never on live rows or threads, so results are bit-identical for any number of threads.
enum class BatchRows { kMany, kOne, kTwo };
inline BatchRows BatchRowsOf(int64_t batch) {
  return batch == 1 ? BatchRows::kOne : batch == 2 ? BatchRows::kTwo : BatchRows::kMany;
}

template <typename T, int M, int NV, typename E, typename A>
EIGEN_ALWAYS_INLINE void MultiplyRows(const A& a, const E* b, int64_t ldb, int64_t depth,
                                      BatchRows batch, const Ahead& next, Packet<T> (&acc)[M][NV]) {
  constexpr int kSums = kVectorRegisters == 32 ? 4 : 2;  // for each column
  if constexpr (M == 1) {
    if (batch == BatchRows::kOne) return MultiplyTileSplit<T, kSums, M, NV>(a, b, ldb, depth, acc);
  }
  if constexpr (M <= 2) {
    if (batch == BatchRows::kTwo)
      return MultiplyTileSplit<T, kSums / 2, M, NV>(a, b, ldb, depth, acc);
  }
  MultiplyTile<T, M, NV>(a, b, ldb, depth, next, acc);
}

// Calls fn with n, in [1, Max] and known at run time, as a constant.
template <int Max, typename F>
EIGEN_ALWAYS_INLINE void WithConstant(int n, F&& fn) {
  if constexpr (Max > 1) {
    if (n < Max) {
      WithConstant<Max - 1>(n, fn);
      return;
    }
  }
  fn(std::integral_constant<int, Max>());
}

// Calls fn(first row, number of rows as a constant) for tiles of at most Max rows that cover `rows`
// rows and differ by one at most: a last tile of one or two rows would wait for B.
template <int Max, typename F>
EIGEN_ALWAYS_INLINE void ForRowTiles(int64_t rows, F&& fn) {
  const int64_t tiles = CeilDiv(rows, Max);
  int64_t row = 0;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t size = CeilDiv(rows - row, tiles - t);
    WithConstant<Max>(static_cast<int>(size), [&](auto m) { fn(row, m); });
    row += size;
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PRODUCT_TILE_H_
