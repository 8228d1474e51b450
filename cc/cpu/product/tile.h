// The register tile: some rows of A times one panel of B. It has the innermost loops of every
// product.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The number of rows of a register tile with NV vectors of columns. The M * NV accumulators, NV
// vectors of B and one broadcast of A fit the registers, and the accumulators are enough to hide
// FMA latency.
template <int NV>
constexpr int kTileRows = std::min(8, (kVectorRegisters == 32 ? 24 : 12) / NV);

// WHY not in the baseline: without fused operations a product needs a register too, and halves take
// 1.12 of the time.
#if defined(RNN_OPS_ISA_AVX2)
constexpr bool kHasHalves = true;
#else
constexpr bool kHasHalves = false;
#endif
// Whether a panel of operands E with nv vectors is in halves (Note [Halves]).
template <typename E>
constexpr bool IsHalved(int nv) {
  return kHasHalves && !kIsGroup<E> && nv == 4;
}
// The number of operands from a row of a panel to the next row.
template <typename E>
constexpr int64_t PanelRow(int nv) {
  return (IsHalved<E>(nv) ? 2 : nv) * kOperandLanes<E>;
}
// Where vector v of a panel of `depth` rows begins.
template <typename E>
constexpr int64_t VectorAt(int nv, int v, int64_t depth) {
  constexpr int V = kOperandLanes<E>;
  return IsHalved<E>(nv) ? v / 2 * depth * 2 * V + v % 2 * V : int64_t{v} * V;
}

// The K of a product: pieces of the rows of A and of the rows of B's panels.
//
//   row of A    | a_at |## run ##|    |## run ##|    |## run ##| ...
//                      <- a_stride ->
//   rows of B   | b_at |## run ##|   |## run ##|   |## run ##| ...     b_depth in total
//                      <- b_stride ->
struct RunsOfK {
  int64_t run;   // number of operands in a run
  int64_t runs;  // number of runs
  int64_t a_at;
  int64_t a_stride;
  int64_t b_at;
  int64_t b_stride;
  int64_t b_depth;

  // The whole rows of A and the whole panels of B.
  static constexpr RunsOfK Dense(int64_t depth) { return {depth, 1, 0, 0, 0, depth, depth}; }
  // Runs of the rows of A that fill the panels of B.
  static constexpr RunsOfK Pieces(int64_t run, int64_t runs, int64_t a_at, int64_t a_stride) {
    return {run, runs, a_at, a_stride, 0, run, run * runs};
  }

  // `count` operands of the only run, beginning at operand `first`.
  RunsOfK PartOfRun(int64_t first, int64_t count) const {
    return {count, 1, a_at + first, a_stride, b_at + first, b_stride, b_depth};
  }
  // `count` runs, beginning at run `first`.
  RunsOfK PartOfRuns(int64_t first, int64_t count) const {
    return {run,      count,  a_at + first * a_stride, a_stride, b_at + first * b_stride,
            b_stride, b_depth};
  }
};

// The blocks of a K. If K has several runs, a block is a number of whole runs. Otherwise a block is
// a piece of the only run.
class BlocksOfK {
 public:
  BlocksOfK(const RunsOfK& k, int64_t depth) : k_(k), size_(whole()), count_(1) {
    if (depth >= k.run * k.runs) return;
    size_ = std::max<int64_t>(1, k.runs == 1 ? depth : depth / k.run);
    count_ = CeilDiv(whole(), size_);
  }

  int64_t count() const { return count_; }
  RunsOfK at(int64_t i) const {
    const int64_t first = i * size_, size = std::min(size_, whole() - first);
    return k_.runs == 1 ? k_.PartOfRun(first, size) : k_.PartOfRuns(first, size);
  }

 private:
  int64_t whole() const { return k_.runs == 1 ? k_.run : k_.runs; }

  const RunsOfK k_;
  int64_t size_;   // of a block, in operands or runs
  int64_t count_;  // number of blocks
};

// A block of K of one panel. The block stays in the cache while the row tiles use it.
template <typename E>
struct PanelBlock {
  int64_t panel;
  const E* b;          // data of the panel
  RunsOfK k;           // the K of the block
  int64_t vector = 0;  // index of the panel's first vector in all columns
};

// The order in which the panels [begin, end) are used. The order is reversed at every second step,
// so that each step begins with the weights that the previous step left in the cache. Without the
// reversal, weights slightly larger than the cache would never be found in the cache.
struct PanelOrder {
  int64_t begin;
  int64_t end;
  bool reversed;

  int64_t count() const { return end - begin; }
  int64_t at(int64_t i) const { return reversed ? end - 1 - i : begin + i; }
};

// The panels of a product, of NV vectors each.
template <typename E, int NV>
struct Panels {
  const E* b;  // panel 0
  PanelOrder order;
  int64_t depth;        // rows of a panel
  int64_t stride = NV;  // vectors from the beginning of one panel to the beginning of the next

  int64_t count() const { return order.count(); }
  const E* At(int64_t panel) const { return b + panel * stride * depth * kOperandLanes<E>; }
  // A block of K of the panel that is used i-th.
  PanelBlock<E> Block(int64_t i, const RunsOfK& k) const {
    const int64_t panel = order.at(i);
    return {panel, At(panel), k, panel * stride};
  }
  // Row k of that panel, or of the last panel, to be prefetched.
  const E* Row(int64_t i, int64_t k) const {
    return At(order.at(std::min(i, count() - 1))) + k * PanelRow<E>(NV);
  }
};

// The rows of B of a product, from the current row on.
template <typename E>
struct RowsOfB {
  const E* at;
  int64_t row;                          // from one row to the next
  int64_t half = 2 * kOperandLanes<E>;  // from the first two vectors to the others

  // Row k of a panel of `depth` rows and NV vectors.
  template <int NV>
  static EIGEN_ALWAYS_INLINE RowsOfB OfPanel(const E* panel, int64_t depth, int64_t k) {
    constexpr int64_t kRow = PanelRow<E>(NV);
    return {panel + k * kRow, kRow, IsHalved<E>(NV) ? depth * kRow : 2 * kOperandLanes<E>};
  }
  EIGEN_ALWAYS_INLINE RowsOfB From(int64_t k) const { return {at + k * row, row, half}; }
  EIGEN_ALWAYS_INLINE typename Operand<E>::Vector Load(int v) const {
    return Operand<E>::Load(at + v / 2 * half + v % 2 * kOperandLanes<E>);
  }
};

// A by rows: element (m, k) is row[m][k].
template <typename T, int M>
struct RowsOfA {
  static constexpr bool kGated = false;
  const T* row[M];
  EIGEN_ALWAYS_INLINE T at(int m, int, int64_t k) const { return row[m][k]; }
  // Rows are read in order, so the hardware prefetcher follows them.
  EIGEN_ALWAYS_INLINE void Prefetch(int64_t) const {}
};

// A by rows with a separate A for each of the NV vectors, interleaved: element (m, k) of vector v
// is row[m][k * NV + v]. See masks.h.
template <typename T, int M, int NV>
struct GatedRowsOfA {
  static constexpr bool kGated = true;
  const T* row[M];
  EIGEN_ALWAYS_INLINE T at(int m, int v, int64_t k) const { return row[m][k * NV + v]; }
  EIGEN_ALWAYS_INLINE void Prefetch(int64_t) const {}
};

// The rows `a` of a tile of operands E from operand `at` on; with `Gated` interleaved.
template <typename E, int M, int NV, bool Gated>
EIGEN_ALWAYS_INLINE auto TileOfA(const void* const* a, int64_t at) {
  std::conditional_t<Gated, GatedRowsOfA<E, M, NV>, RowsOfA<E, M>> rows;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) rows.row[m] = static_cast<const E*>(a[m]) + at * (Gated ? NV : 1);
  return rows;
}

// sum += a * b. With `InPlace` the result is in the register of `sum`.
// WHY: GCC may take the register of a factor. In tiles of halves (Note [Halves]) it keeps some of
// the twelve sums in memory then, and the loop takes 6 % longer. Other tiles need the freedom: with
// a cell behind it, the loop of GRU takes 27 % longer in place.
template <typename E, bool InPlace, typename Vector, typename Sum>
EIGEN_ALWAYS_INLINE void AddProduct(const Vector& a, const Vector& b, Sum& sum) {
#if defined(RNN_OPS_ISA_AVX2)
  if constexpr (InPlace && std::is_same_v<E, float>) {
    asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    return;
  } else if constexpr (InPlace && std::is_same_v<E, double>) {
    asm("vfmadd231pd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    return;
  }
#endif
  sum = Operand<E>::MultiplyAdd(a, b, sum);
}

// acc[v] += a(m, k) * b[v]: one row and one k of a tile.
template <typename T, typename E, int NV, bool InPlace, typename A>
EIGEN_ALWAYS_INLINE void MultiplyRow(const A& a, int m, int64_t k,
                                     const typename Operand<E>::Vector (&b)[NV],
                                     Packet<T> (&acc)[NV]) {
  using O = Operand<E>;
  if constexpr (A::kGated) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) AddProduct<E, InPlace>(O::Set(a.at(m, v, k)), b[v], acc[v]);
  } else {
    const typename O::Vector am = O::Set(a.at(m, 0, k));
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) AddProduct<E, InPlace>(am, b[v], acc[v]);
  }
}

// The prefetching of a tile.
//
// Note [Fetching ahead]
// All row tiles use the same slice of B. The first tile reads the slice from memory into the
// second-level cache, and the other tiles leave memory idle. So each tile prefetches a part of the
// next slice: `step` bytes with every k, beginning at `at`. With 32 registers and only one or two
// tiles, memory is never idle, and prefetching would delay the hardware prefetcher. There it costs
// up to 10 % of the time. With three or more tiles prefetching gains up to 9 %, and with 16
// registers up to 4 % from two tiles on (docs/design/measurements.md, "Tried on CPUs").
struct Ahead {
  const char* at;
  int64_t step;
  EIGEN_ALWAYS_INLINE void Fetch(int64_t k) const { __builtin_prefetch(at + k * step, 0, 2); }
};
struct NothingAhead {
  EIGEN_ALWAYS_INLINE void Fetch(int64_t) const {}
};

constexpr int64_t kFewestTilesToFetch = kVectorRegisters == 32 ? 3 : 1;

// The part of the next slice that the tile at rows `row` of `rows` prefetches. Slices have `depth`
// rows of `row_bytes` bytes.
inline Ahead AheadOf(const void* next, int64_t depth, int64_t row_bytes, int64_t row, int64_t rows,
                     int64_t tiles) {
  if (tiles < kFewestTilesToFetch) return {static_cast<const char*>(next), 0};
  const int64_t step = std::min<int64_t>(64, CeilDiv(row_bytes, tiles));
  return {static_cast<const char*>(next) + row * tiles / rows * depth * step, step};
}

// acc[m][v] += a(m, k) * b[v]: one k of a tile, with the first row of b.
template <typename T, int M, int NV, bool InPlace = false, typename E, typename A>
EIGEN_ALWAYS_INLINE void MultiplyStep(const A& a, int64_t k, const RowsOfB<E>& b,
                                      Packet<T> (&acc)[M][NV]) {
  typename Operand<E>::Vector bv[NV];
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) bv[v] = b.Load(v);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) MultiplyRow<T, E, NV, InPlace>(a, m, k, bv, acc[m]);
}

// The number of k in an iteration of MultiplyTile. With 16 registers a large tile has so few
// multiplications for one k that the other instructions cost 4 to 14 % where another hyperthread
// uses the core. A tile that does not fit the registers becomes slower.
template <int M, int NV>
constexpr int kUnrolled = kVectorRegisters == 16 && M * NV >= 8 && M * NV + NV < 16 ? 4 : 1;

// acc[m][v] += sum_k a(m, k) * b(k, v). k in order, with one fused operation each.
template <typename T, int M, int NV, bool InPlace = false, typename E, typename A, typename Next>
EIGEN_ALWAYS_INLINE void MultiplyTile(const A& a, RowsOfB<E> b, int64_t depth, const Next& next,
                                      Packet<T> (&acc)[M][NV]) {
  constexpr int U = kUnrolled<M, NV>;
  int64_t k = 0;
  for (; k + U <= depth; k += U, b.at += U * b.row) {
    next.Fetch(k);
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) {
      a.Prefetch(k + u);
      MultiplyStep<T, M, NV, InPlace>(a, k + u, b.From(u), acc);
    }
  }
  for (; U > 1 && k < depth; ++k, b.at += b.row) MultiplyStep<T, M, NV>(a, k, b, acc);
}

// MultiplyTile with `U` separate sums, one for every `U`th k, that are added at the end. One or two
// rows have too few sums to hide the latency of an addition.
template <typename T, int U, int M, int NV, typename E, typename A>
EIGEN_ALWAYS_INLINE void MultiplyTileSplit(const A& a, RowsOfB<E> b, int64_t depth,
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
  for (; k + U <= depth; k += U, b.at += U * b.row) {
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) MultiplyStep<T, M, NV>(a, k + u, b.From(u), part[u]);
  }
  for (; k < depth; ++k, b.at += b.row) MultiplyStep<T, M, NV>(a, k, b, part[0]);
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

// Selects the order of summation, which determines the rounding. The selection depends only on the
// batch of the problem, never on the active sequences or on threads, so results are bit-identical
// for any number of threads.
enum class BatchRows { kMany, kOne, kTwo };
inline BatchRows BatchRowsOf(int64_t batch) {
  return batch == 1 ? BatchRows::kOne : batch == 2 ? BatchRows::kTwo : BatchRows::kMany;
}

template <typename T, int M, int NV, typename E, typename A>
EIGEN_ALWAYS_INLINE void MultiplyRows(const A& a, const RowsOfB<E>& b, int64_t depth,
                                      BatchRows batch, const Ahead& next, Packet<T> (&acc)[M][NV]) {
  constexpr int kSums = kVectorRegisters == 32 ? 4 : 2;  // for each column
  if constexpr (M == 1) {
    if (batch == BatchRows::kOne) return MultiplyTileSplit<T, kSums, M, NV>(a, b, depth, acc);
  }
  if constexpr (M <= 2) {
    if (batch == BatchRows::kTwo) return MultiplyTileSplit<T, kSums / 2, M, NV>(a, b, depth, acc);
  }
  MultiplyTile<T, M, NV>(a, b, depth, next, acc);
}

// Calls fn(n as a constant) for a dynamic n in [1, Max].
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

// Calls fn(first row, number of rows) for tiles of at most Max rows that cover `rows` rows. The
// sizes of the tiles differ by at most one: a last tile of one or two rows would wait for B.
template <int Max, typename F>
EIGEN_ALWAYS_INLINE void ForRowTiles(int64_t rows, F&& fn) {
  const int64_t tiles = CeilDiv(rows, Max);
  int64_t row = 0;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t size = CeilDiv(rows - row, tiles - t);
    fn(row, static_cast<int>(size));
    row += size;
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
