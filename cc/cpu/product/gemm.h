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
template <typename T, typename E = T>
struct RowGemm {
  const E* const* a;  // [rows] of A
  T* const* c;        // [rows] of C
  int64_t rows;
  RunsOfK k;
  const E* b;                            // panels [k.b_depth][nv * V]
  int64_t columns;                       // valid columns of C
  int64_t panel_stride = 4 * kLanes<T>;  // columns of C from one panel to the next
  Start start = Start::kZero;
  const T* bias = nullptr;          // [panels * NV * V], with Start::kBias
  const T* const* scale = nullptr;  // [rows] like C: multiplies the product before it is added
  BatchRows batch = BatchRows::kMany;
  bool reversed = false;  // the order of the panels
  bool gated = false;     // A's rows are interleaved, as in GatedRowsOfA; for gate panels alone
};

// About this many rows of B stay in the second-level cache while the row tiles pass over them.
constexpr int64_t kDepthBlock = 512;

// The blocks of a K: whole runs where there are several, otherwise pieces of the one run.
class BlocksOfK {
 public:
  BlocksOfK(const RunsOfK& k, int64_t depth)
      : k_(k), size_(k.runs == 1 ? depth : depth / std::max<int64_t>(1, k.run)) {
    size_ = std::max<int64_t>(1, size_);
  }

  int64_t count() const { return std::max<int64_t>(1, CeilDiv(whole(), size_)); }
  RunsOfK at(int64_t i) const {
    const int64_t first = i * size_, size = std::min(size_, whole() - first);
    return k_.runs == 1 ? k_.PartOfRun(first, size) : k_.PartOfRuns(first, size);
  }

 private:
  int64_t whole() const { return k_.runs == 1 ? k_.run : k_.runs; }

  const RunsOfK k_;
  int64_t size_;
};

// With `Gated` the rows of A are interleaved, as in GatedRowsOfA. `done` holds partial sums of the
// first done.Depth() operands of each run; this tile adds the rest.
template <typename T, int M, int NV, bool Gated, typename E, typename Done>
void GemmTile(const RowGemm<T, E>& g, const PanelBlock<E>& block, Start start, int64_t row,
              Ahead next, const Done& done) {
  constexpr int V = kLanes<T>;
  constexpr int64_t ldb = NV * V;
  const RunsOfK& k = block.k;
  Packet<T> acc[M][NV];
  const int64_t column = block.panel * g.panel_stride;
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
        acc[m][v] = Load(g.bias + (block.vector + v) * V);
      } else {
        acc[m][v] = LoadFirst(c[m] + v * V, n - v * V);
      }
    }
  }
  done.AddTo(acc);
  const int64_t done_depth = done.Depth(k.run);
  constexpr int kPerK = Gated ? NV : 1;
  std::conditional_t<Gated, GatedRowsOfA<E, M, NV>, RowsOfA<E, M>> a;
  for (int m = 0; m < M; ++m) a.row[m] = g.a[row + m] + (k.a_at + done_depth) * kPerK;
  const E* b = block.b + (k.b_at + done_depth) * ldb;
  for (int64_t r = 0; r < k.runs; ++r) {
    MultiplyRows<T, M, NV>(a, b, ldb, k.run - done_depth, g.batch, next, acc);
    for (int m = 0; m < M; ++m) a.row[m] += k.a_stride * kPerK;
    b += k.b_stride * ldb;
    next.at += k.run * next.step;
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

// Panels [panel0, panel1) of NV vectors each, of which `stride` vectors lie between the beginnings
// of two panels of B: the last panel of a dense product may have fewer than those before it.
template <typename T, int NV, bool Gated = false, typename E = T>
void GemmPanels(const RowGemm<T, E>& g, int64_t panel0, int64_t panel1, int64_t stride = NV) {
  constexpr int V = kLanes<T>;
  constexpr int M = kTileRows<NV>;
  constexpr int64_t ldb = NV * V;
  const int64_t tiles = CeilDiv(g.rows, M);
  RowTiles<E, NV, Gated> row_tiles(g.rows);
  const PanelOrder order = {panel0, panel1, g.reversed};
  // Nothing passes over a block twice where all rows are in one tile.
  const bool one_tile = g.batch != BatchRows::kMany;
  const BlocksOfK blocks(g.k, one_tile ? g.k.run * g.k.runs : kDepthBlock);
  // Blocks outside, panels inside: a block of A stays in cache while the panels pass over it.
  for (int64_t i = 0; i < blocks.count(); ++i) {
    const RunsOfK k = blocks.at(i);
    const Start start = i == 0 ? g.start : Start::kAccumulate;
    auto panel_at = [&](int64_t q) { return g.b + order.at(q) * stride * k.b_depth * V; };
    for (int64_t q = 0; q < order.count(); ++q) {
      const PanelBlock<E> block = {order.at(q), panel_at(q), k, order.at(q) * stride};
      const E* next = panel_at(std::min(q + 1, order.count() - 1)) + k.b_at * ldb;
      row_tiles.ForEach(g.a, block, [&](int64_t row, auto m, const auto& done) {
        const Ahead ahead = AheadOf(next, k.runs * k.run, ldb * sizeof(E), row, g.rows, tiles);
        GemmTile<T, decltype(m)::value, NV, Gated>(g, block, start, row, ahead, done);
      });
    }
  }
}

// Gate panels of nv vectors, 3 or 4.
template <typename T, typename E>
void GemmGatePanels(const RowGemm<T, E>& g, int nv, int64_t panel0, int64_t panel1) {
  if constexpr (Operands<T, E>::kRareModes) {
    if (g.gated && nv == 3) return GemmPanels<T, 3, /*Gated=*/true>(g, panel0, panel1);
    if (g.gated) return GemmPanels<T, 4, /*Gated=*/true>(g, panel0, panel1);
  }
  if (nv == 3) return GemmPanels<T, 3>(g, panel0, panel1);
  GemmPanels<T, 4>(g, panel0, panel1);
}

// Vectors in panel p of a dense product whose columns fill `vectors` vectors, four to a panel.
inline int PanelVectors(int64_t vectors, int64_t p) {
  return static_cast<int>(std::min<int64_t>(4, vectors - 4 * p));
}

// A dense product: panels [panel0, panel1) of four vectors, the last one of fewer.
template <typename T, typename E>
void GemmDense(const RowGemm<T, E>& g, int64_t panel0, int64_t panel1) {
  const int64_t vectors = CeilDiv(g.columns, kLanes<T>);
  const int64_t full = std::min(panel1, vectors / 4);
  if (full > panel0) GemmPanels<T, 4>(g, panel0, full);
  if (panel1 > vectors / 4 && vectors % 4 != 0) {
    WithConstant<3>(static_cast<int>(vectors % 4), [&](auto nv) {
      GemmPanels<T, decltype(nv)::value>(g, vectors / 4, vectors / 4 + 1, /*stride=*/4);
    });
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PRODUCT_GEMM_H_
