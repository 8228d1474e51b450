// Matrix products on packed weights. See Note [Panels] in panels.h for the format of B.
#ifndef TF_RNN_OPS_CC_CPU_PRODUCT_GEMM_H_
#define TF_RNN_OPS_CC_CPU_PRODUCT_GEMM_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

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

// A transposed: element (m, k) is rows[k][m], so a column block of a tall matrix.
template <typename T>
struct ColumnsOfA {
  static constexpr bool kGated = false;
  const T* const* rows;
  int64_t column;
  EIGEN_ALWAYS_INLINE T at(int m, int, int64_t k) const { return rows[k][column + m]; }
  // The line that the next tiles need: consecutive k are a whole row apart.
  EIGEN_ALWAYS_INLINE void Prefetch(int64_t k) const {
    __builtin_prefetch(rows[k] + column + 24, 0, 2);
  }
};

// The same from a copy with rows of LD elements: element (m, k) is at_column[k * LD + m].
template <typename T, int LD>
struct DenseColumnsOfA {
  static constexpr bool kGated = false;
  const T* at_column;
  EIGEN_ALWAYS_INLINE T at(int m, int, int64_t k) const { return at_column[k * LD + m]; }
  EIGEN_ALWAYS_INLINE void Prefetch(int64_t) const {}
};

// The same of interleaved rows, as in GatedRowsOfA.
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
// the slice that comes next, from `at` on, `step` bytes with every k.
struct Ahead {
  const char* at;
  int64_t step;
  EIGEN_ALWAYS_INLINE void Fetch(int64_t k) const { __builtin_prefetch(at + k * step, 0, 2); }
};
struct NothingAhead {
  EIGEN_ALWAYS_INLINE void Fetch(int64_t) const {}
};

// The part of the tile that begins at `row` of `rows`; slices have `depth` rows of `row_bytes`.
inline Ahead AheadOf(const void* next, int64_t depth, int64_t row_bytes, int64_t row, int64_t rows,
                     int64_t tiles) {
  const int64_t step = std::min<int64_t>(64, CeilDiv(row_bytes, tiles));
  return {static_cast<const char*>(next) + row * tiles / rows * depth * step, step};
}

// acc[m][v] += sum_k a(m, k) * b[k * ldb + v * V ...], k in order, one fused step each.
template <typename T, int M, int NV, typename E, typename A, typename Next>
EIGEN_ALWAYS_INLINE void MultiplyTile(const A& a, const E* b, int64_t ldb, int64_t depth,
                                      const Next& next, Packet<T> (&acc)[M][NV]) {
  constexpr int V = kLanes<T>;
  for (int64_t k = 0; k < depth; ++k, b += ldb) {
    a.Prefetch(k);
    next.Fetch(k);
    typename Operand<E>::Vector bv[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) bv[v] = Operand<E>::Load(b + v * V);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) MultiplyRow<T, E, NV>(a, m, k, bv, acc[m]);
  }
}

// The same with the products of every `U`th k in sums of their own, added up at the end: one or two
// rows alone have too few sums to hide the latency of an addition.
template <typename T, int U, int M, int NV, typename E, typename A>
EIGEN_ALWAYS_INLINE void MultiplyTileSplit(const A& a, const E* b, int64_t ldb, int64_t depth,
                                           Packet<T> (&acc)[M][NV]) {
  constexpr int V = kLanes<T>;
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
    for (int u = 0; u < U; ++u) {
      typename Operand<E>::Vector bv[NV];
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) bv[v] = Operand<E>::Load(b + u * ldb + v * V);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) MultiplyRow<T, E, NV>(a, m, k + u, bv, part[u][m]);
    }
  }
  for (; k < depth; ++k, b += ldb) {
    typename Operand<E>::Vector bv[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) bv[v] = Operand<E>::Load(b + v * V);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) MultiplyRow<T, E, NV>(a, m, k, bv, part[0][m]);
  }
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

// The rows of a step of the whole problem where they are one or two, otherwise 0: the order of
// summation, and so the rounding, goes by it. It must not go by how many rows are still alive or
// how they were shared out.
inline int FewRows(int64_t batch) { return batch <= 2 ? static_cast<int>(batch) : 0; }

// `few_rows` is FewRows() of the problem.
template <typename T, int M, int NV, typename E, typename A>
EIGEN_ALWAYS_INLINE void MultiplyRows(const A& a, const E* b, int64_t ldb, int64_t depth,
                                      int few_rows, const Ahead& next, Packet<T> (&acc)[M][NV]) {
  constexpr int kSums = kVectorRegisters == 32 ? 4 : 2;  // for each column
  if constexpr (M == 1) {
    if (few_rows == 1) return MultiplyTileSplit<T, kSums, M, NV>(a, b, ldb, depth, acc);
  }
  if constexpr (M <= 2) {
    if (few_rows == 2) return MultiplyTileSplit<T, kSums / 2, M, NV>(a, b, ldb, depth, acc);
  }
  MultiplyTile<T, M, NV>(a, b, ldb, depth, next, acc);
}

// Calls fn with the run-time m in [1, Max] as a constant.
template <int Max, typename F>
EIGEN_ALWAYS_INLINE void WithRows(int m, F&& fn) {
  if constexpr (Max > 1) {
    if (m < Max) {
      WithRows<Max - 1>(m, fn);
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
    WithRows<Max>(static_cast<int>(size), [&](auto m) { fn(row, m); });
    row += size;
  }
}

// The order in which the panels [begin, end) are used. Steps alternate, so that each begins with
// the weights that the one before has left in cache: in one direction, weights a little larger than
// the cache would never be found there.
struct PanelOrder {
  int64_t begin;
  int64_t end;
  bool reversed;

  int64_t count() const { return end - begin; }
  int64_t at(int64_t i) const { return reversed ? end - 1 - i : begin + i; }
};

// How C is started.
enum class Start { kZero, kBias, kAccumulate };

// One product C[i, :] (+)= A[i, :] * B over lists of row pointers.
template <typename T, typename E = T>
struct RowGemm {
  const E* const* a;  // [rows] of A
  T* const* c;        // [rows] of C
  int64_t rows;
  // The K operands of a row of A lie in `runs` runs of `run` operands, `run_stride` apart, from
  // `a_offset` on. (GRU's gradient uses three of the four vectors of each unit block.)
  int64_t run;
  int64_t runs = 1;
  int64_t run_stride = 0;
  int64_t a_offset = 0;
  const E* b;  // panels [K][nv * V]
  // Where the runs lie in a panel of B that has more rows than they use: the first of them, from
  // one run to the next, and all rows. -1: as many as are used.
  int64_t b_first = 0;
  int64_t b_run_stride = -1;
  int64_t b_depth = -1;
  const T* bias = nullptr;  // [panels * NV * V], with Start::kBias
  int64_t columns;          // valid columns of C when NV-wide panels tile it densely
  int64_t panel_stride;     // columns of C from one panel to the next
  Start start;
  const T* const* scale = nullptr;  // [rows] like C: multiplies the product before it is added
  int few_rows = 0;                 // see MultiplyRows
  bool reversed = false;            // the order of the panels

  int64_t panel_depth() const { return b_depth < 0 ? run * runs : b_depth; }
  int64_t run_rows() const { return b_run_stride < 0 ? run : b_run_stride; }
};

// About this many rows of B stay in the second-level cache while the row tiles pass over them.
constexpr int64_t kDepthBlock = 512;

// With `Gated` the rows of A are interleaved, as in GatedRowsOfA.
template <typename T, int M, int NV, bool Gated, typename E>
void GemmTile(const RowGemm<T, E>& g, int64_t row, int64_t panel, const E* b, int64_t ldb,
              int64_t run0, int64_t run1, int64_t k0, int64_t depth, Ahead next, Start start) {
  constexpr int V = kLanes<T>;
  Packet<T> acc[M][NV];
  const int64_t column = panel * g.panel_stride;
  T* c[M];
  for (int m = 0; m < M; ++m) c[m] = g.c[row + m] + column;
  // Valid columns in this panel.
  const int64_t n = std::min<int64_t>(NV * V, g.columns - column);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      if (start == Start::kZero || g.scale != nullptr) {
        acc[m][v] = Set<T>(T(0));
      } else if (start == Start::kBias) {
        acc[m][v] = Load(g.bias + panel * NV * V + v * V);
      } else {
        acc[m][v] = LoadFirst(c[m] + v * V, n - v * V);
      }
    }
  }
  constexpr int kPerK = Gated ? NV : 1;
  std::conditional_t<Gated, GatedRowsOfA<E, M, NV>, RowsOfA<E, M>> a;
  for (int m = 0; m < M; ++m) {
    a.row[m] = g.a[row + m] + (g.a_offset + run0 * g.run_stride + k0) * kPerK;
  }
  for (int64_t r = run0; r < run1; ++r) {
    MultiplyRows<T, M, NV>(a, b, ldb, depth, g.few_rows, next, acc);
    for (int m = 0; m < M; ++m) a.row[m] += g.run_stride * kPerK;
    b += g.run_rows() * ldb;
    next.at += depth * next.step;
  }
  if (g.scale != nullptr) {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const T* scale = g.scale[row + m] + column;
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        acc[m][v] = pmul(acc[m][v], LoadFirst(scale + v * V, n - v * V));
        if (start == Start::kAccumulate) {
          acc[m][v] = padd(acc[m][v], LoadFirst(c[m] + v * V, n - v * V));
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) StoreFirst(c[m] + v * V, acc[m][v], n - v * V);
  }
}

// Panels [panel0, panel1) of NV vectors each. The last panel of a dense product may be narrower;
// it is then packed with fewer vectors, see PanelVectors.
template <typename T, int NV, bool Gated = false, typename E = T>
void GemmPanels(const RowGemm<T, E>& g, int64_t panel0, int64_t panel1) {
  constexpr int V = kLanes<T>;
  constexpr int M = kTileRows<NV>;
  constexpr int64_t ldb = NV * V;
  const int64_t tiles = CeilDiv(g.rows, M);
  const PanelOrder order = {panel0, panel1, g.reversed};
  // Nothing passes over a block twice where all rows are in one tile.
  const int64_t block_depth = g.few_rows ? std::max<int64_t>(1, g.run * g.runs) : kDepthBlock;
  // Blocks of K: whole runs where there are several, otherwise pieces of the one run.
  const int64_t runs_per_block =
      g.runs == 1 ? 1 : std::max<int64_t>(1, block_depth / std::max<int64_t>(1, g.run));
  const int64_t piece = g.runs == 1 ? block_depth : g.run;
  const int64_t blocks =
      std::max<int64_t>(1, g.runs == 1 ? CeilDiv(g.run, piece) : CeilDiv(g.runs, runs_per_block));
  // Blocks outside, panels inside: a block of A stays in cache while the panels pass over it.
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t run0 = g.runs == 1 ? 0 : block * runs_per_block;
    const int64_t run1 = g.runs == 1 ? 1 : std::min(g.runs, run0 + runs_per_block);
    const int64_t k0 = g.runs == 1 ? block * piece : 0;
    const int64_t k = g.runs == 1 ? std::min(piece, g.run - k0) : g.run;
    const Start start = block == 0 ? g.start : Start::kAccumulate;
    const int64_t first_row = g.b_first + run0 * g.run_rows() + k0;
    for (int64_t q = 0; q < order.count(); ++q) {
      const int64_t p = order.at(q);
      const int64_t p_next = order.at(std::min(q + 1, order.count() - 1));
      const E* b = g.b + (p * g.panel_depth() + first_row) * ldb;
      const E* next = g.b + (p_next * g.panel_depth() + first_row) * ldb;
      ForRowTiles<M>(g.rows, [&](int64_t i, auto m) {
        const Ahead ahead = AheadOf(next, (run1 - run0) * k, ldb * sizeof(E), i, g.rows, tiles);
        GemmTile<T, decltype(m)::value, NV, Gated>(g, i, p, b, ldb, run0, run1, k0, k, ahead,
                                                   start);
      });
    }
  }
}

// Gate panels of nv vectors, 3 or 4.
template <typename T, bool Gated, typename E>
void GemmGatePanels(const RowGemm<T, E>& g, int nv, int64_t panel0, int64_t panel1) {
  if (nv == 3) return GemmPanels<T, 3, Gated>(g, panel0, panel1);
  GemmPanels<T, 4, Gated>(g, panel0, panel1);
}

// Vectors in panel p of a dense product whose columns fill `vectors` vectors, four to a panel.
inline int PanelVectors(int64_t vectors, int64_t p) {
  return static_cast<int>(std::min<int64_t>(4, vectors - 4 * p));
}

// A dense product: panels [panel0, panel1) of four vectors, the last one narrower.
template <typename T, typename E>
void GemmDense(const RowGemm<T, E>& g, int64_t panel0, int64_t panel1) {
  constexpr int V = kLanes<T>;
  const int64_t vectors = CeilDiv(g.columns, V);
  const int64_t full = std::min(panel1, vectors / 4);
  if (full > panel0) GemmPanels<T, 4>(g, panel0, full);
  if (panel1 > vectors / 4 && vectors % 4 != 0) {
    // The narrow panel as a product of its own, its panel number 0.
    const int64_t p = vectors / 4;
    RowGemm<T, E> last = g;
    const int nv = PanelVectors(vectors, p);
    last.b = g.b + p * g.panel_depth() * 4 * V;
    last.bias = g.bias == nullptr ? nullptr : g.bias + p * 4 * V;
    last.columns = g.columns - p * 4 * V;
    T* shifted[256];
    const T* shifted_scale[256];
    for (int64_t i = 0; i < g.rows; i += 256) {
      const int64_t n = std::min<int64_t>(256, g.rows - i);
      for (int64_t r = 0; r < n; ++r) {
        shifted[r] = g.c[i + r] + p * 4 * V;
        if (g.scale != nullptr) shifted_scale[r] = g.scale[i + r] + p * 4 * V;
      }
      if (g.scale != nullptr) last.scale = shifted_scale;
      last.a = g.a + i;
      last.c = shifted;
      last.rows = n;
      if (nv == 1) GemmPanels<T, 1>(last, 0, 1);
      if (nv == 2) GemmPanels<T, 2>(last, 0, 1);
      if (nv == 3) GemmPanels<T, 3>(last, 0, 1);
    }
  }
}

// Rows that a weight gradient reduces at a time. With 16 registers tiles are small and read A
// often: blocks of its columns are copied, whose rows, often 4 KiB apart, would fall on few sets of
// the caches, and fewer rows let the copy and a panel of B share the first level.
constexpr bool kCopiesColumns = kVectorRegisters == 16;
constexpr int64_t kReductionRows = kCopiesColumns ? 128 : 256;

// Panels of a product with a transposed A, the product of a weight gradient:
// c_q[m, v] (+)= sum_k rows[k][m] * b_q[k * ldb + v] for panels q below `panels`.
template <typename T, typename E>
struct TransposedGemm {
  const E* const* rows;
  int64_t depth;
  int64_t columns;  // of A
  int panels;
  const E* b;  // panel q at b + q * b_stride
  int64_t b_stride;
  int64_t ldb;
  T* c;  // panel q at c + q * c_stride, [columns][NV * V]
  int64_t c_stride;
  bool accumulate;
};

// One tile of it: columns [i, i + M) of A, which `a` reads.
template <typename T, int M, int NV, typename E, typename A>
void GemmTransposedTile(const TransposedGemm<T, E>& g, const A& a, int q, int64_t i) {
  constexpr int V = kLanes<T>;
  Packet<T> acc[M][NV];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[m][v] = Set<T>(T(0));
  }
  MultiplyTile<T, M, NV>(a, g.b + q * g.b_stride, g.ldb, g.depth, NothingAhead(), acc);
  // The sum of one call is formed before it is added, so that a long reduction cut into calls
  // loses fewer bits.
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

// fn(q, i, m as a constant) for each tile of columns [begin, end) of A and each panel q.
template <int M, typename T, typename E, typename F>
EIGEN_ALWAYS_INLINE void ForTransposedTiles(const TransposedGemm<T, E>& g, int64_t begin,
                                            int64_t end, F&& fn) {
  for (int q = 0; q < g.panels; ++q) {
    for (int64_t i = begin; i < end; i += M) {
      WithRows<M>(static_cast<int>(std::min<int64_t>(M, end - i)), [&](auto m) { fn(q, i, m); });
    }
  }
}

// Copies columns [begin, end) of A, at most LD, to rows of LD.
template <int LD, typename T, typename E>
void CopyColumns(const TransposedGemm<T, E>& g, int64_t begin, int64_t end, E* copy) {
  constexpr int64_t kAhead = 12;  // the hardware does not foresee steps from row to row
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

// With `Gated` rows are as in GatedColumnsOfA.
template <typename T, int NV, bool Gated, typename E>
void GemmTransposed(const TransposedGemm<T, E>& g) {
  constexpr int M = kTileRows<NV>;
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
  // The lines of A in a block of columns, a whole row apart, are fetched from afar once for all
  // panels, and a panel of B passes over the block while it is near.
  constexpr int64_t kBlock = 8 * M;
  for (int64_t block = 0; block < g.columns; block += kBlock) {
    const int64_t end = std::min(g.columns, block + kBlock);
    ForTransposedTiles<M>(g, block, end, [&](int q, int64_t i, auto m) {
      GemmTransposedTile<T, decltype(m)::value, NV>(g, Columns{g.rows, i}, q, i);
    });
  }
}

// The same with the number of vectors known at run time.
template <typename T, typename E>
void GemmTransposedVectors(int nv, bool gated, const TransposedGemm<T, E>& g) {
  if (gated) {
    // Only gate panels are, of LSTM and of GRU.
    if (nv == 4) return GemmTransposed<T, 4, true>(g);
    return GemmTransposed<T, 3, true>(g);
  }
  switch (nv) {
    case 1:
      return GemmTransposed<T, 1, false>(g);
    case 2:
      return GemmTransposed<T, 2, false>(g);
    case 3:
      return GemmTransposed<T, 3, false>(g);
    default:
      return GemmTransposed<T, 4, false>(g);
  }
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PRODUCT_GEMM_H_
