// Matrix products on packed weights. See Note [Panels] in panels.h for the format of B.
#ifndef TF_RNN_OPS_CC_CPU_PRODUCT_GEMM_H_
#define TF_RNN_OPS_CC_CPU_PRODUCT_GEMM_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/cpu/product/row_tiles.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

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

// One product C[i, :] (+)= A[i, :] * B over lists of row pointers. K may be pieces of longer rows
// of A and of a deeper panel of B: GRU's gradient uses three of the four vectors of a unit block,
// and that of masked states one gate after another.
//
//   row of A    | a_offset |## run ##|    |## run ##|    |## run ##| ...
//                          <- run_stride ->
//   rows of B   | b_first |## run ##|   |## run ##|   |## run ##| ...     b_depth in all
//                         <- b_run_stride ->
template <typename T, typename E = T>
struct RowGemm {
  const E* const* a;  // [rows] of A
  T* const* c;        // [rows] of C
  int64_t rows;
  // The K operands of a row of A lie in `runs` runs of `run` operands.
  int64_t run;
  int64_t runs = 1;
  int64_t run_stride = 0;
  int64_t a_offset = 0;
  const E* b;  // panels [K][nv * V]
  // -1: as many rows of B as are used.
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

// With `Gated` the rows of A are interleaved, as in GatedRowsOfA. Of each run `done` has the first
// operands.
template <typename T, int M, int NV, bool Gated, typename E, typename Done>
void GemmTile(const RowGemm<T, E>& g, int64_t row, int64_t panel, const E* b, int64_t ldb,
              int64_t run0, int64_t run1, int64_t k0, int64_t depth, Ahead next, Start start,
              const Done& done, int64_t done_row) {
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
  done.AddTo(done_row, acc);
  const int64_t done_depth = done.Depth(depth);
  constexpr int kPerK = Gated ? NV : 1;
  std::conditional_t<Gated, GatedRowsOfA<E, M, NV>, RowsOfA<E, M>> a;
  for (int m = 0; m < M; ++m) {
    a.row[m] = g.a[row + m] + (g.a_offset + run0 * g.run_stride + k0 + done_depth) * kPerK;
  }
  b += done_depth * ldb;
  for (int64_t r = run0; r < run1; ++r) {
    MultiplyRows<T, M, NV>(a, b, ldb, depth - done_depth, g.few_rows, next, acc);
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
  RowTiles<E, NV, Gated> row_tiles(g.rows);
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
      const int64_t a_at = g.a_offset + run0 * g.run_stride + k0;
      row_tiles.ForEach(g.a, a_at, {run1 - run0, k, g.run_stride, g.run_rows()}, b,
                        [&](int64_t i, auto m, const auto& done, int64_t done_row) {
                          const Ahead ahead =
                              AheadOf(next, (run1 - run0) * k, ldb * sizeof(E), i, g.rows, tiles);
                          GemmTile<T, decltype(m)::value, NV, Gated>(
                              g, i, p, b, ldb, run0, run1, k0, k, ahead, start, done, done_row);
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

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PRODUCT_GEMM_H_
