// Matrix products on packed weights. The format of B is described in Note [Panels] in panels.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/cpu/product/halves.h"
#include "cc/cpu/product/row_tiles.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The initial value of C.
enum class Start { kZero, kBias, kAccumulate };

// One product C[i, :] (+)= A[i, :] * B over lists of row pointers. K may consist of pieces of
// longer rows of A and of a deeper panel of B. The gradient of GRU uses three of the four vectors
// of a unit block, and the gradient of masked states uses one gate after another.
template <typename T>
struct RowGemm {
  const void* const* a;  // [rows] pointers to the rows of A, of operands
  T* const* c;           // [rows] pointers to the rows of C
  int64_t rows;
  RunsOfK k;                             // in operands
  const void* b;                         // panels [k.b_depth][nv * V] of operands
  int64_t columns;                       // number of valid columns of C
  int64_t panel_stride = 4 * kLanes<T>;  // columns of C from one panel to the next
  Start start = Start::kZero;
  const T* bias = nullptr;          // [panels * NV * V], with Start::kBias
  const T* const* scale = nullptr;  // [rows] like c: factors of the product before it is added to C
  BatchRows batch = BatchRows::kMany;
  bool reversed = false;  // iterate over the panels in reverse
  bool gated = false;     // the rows of A are interleaved (GatedRowsOfA); only for gate panels
  OperandType operands = OperandType::kExact;  // quads have no scale, groups are not gated
};

// About this many rows of B stay in the second-level cache while the row tiles use them.
constexpr int64_t kDepthBlock = 512;

// The beginning of a row of C in a panel.
template <int NV, typename T>
EIGEN_ALWAYS_INLINE void StartRow(const RowGemm<T>& g, Start start, int64_t vector, const T* c,
                                  int64_t columns, Packet<T> (&acc)[NV]) {
  constexpr int V = kLanes<T>;
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) {
    if (start == Start::kZero || g.scale != nullptr) {
      acc[v] = Set<T>(T(0));
    } else if (start == Start::kBias) {
      acc[v] = Load(g.bias + (vector + v) * V);
    } else {
      acc[v] = LoadFirst(c + v * V, columns - v * V);
    }
  }
}

// Stores `columns` columns of some rows of C, from column `first` on. With `scale` the sums are
// scaled, and added to C if they do not begin with C.
template <int M, int NV, typename T>
EIGEN_ALWAYS_INLINE void StoreRows(const RowGemm<T>& g, Start start, int64_t row, int64_t first,
                                   int64_t columns, Packet<T> (&acc)[M][NV]) {
  constexpr int V = kLanes<T>;
  T* c[M];
  for (int m = 0; m < M; ++m) c[m] = g.c[row + m] + first;
  if (g.scale != nullptr) {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      const T* const scale = g.scale[row + m] + first;
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        acc[m][v] = pmul(acc[m][v], LoadFirst(scale + v * V, columns - v * V));
        if (start != Start::kAccumulate) continue;
        acc[m][v] = padd(acc[m][v], LoadFirst(c[m] + v * V, columns - v * V));
      }
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) StoreFirst(c[m] + v * V, acc[m][v], columns - v * V);
  }
}

// One tile of M rows on operands E, a T or a pair. With `Gated` the rows of A are interleaved as in
// GatedRowsOfA.
template <typename T, int M, int NV, bool Gated, typename E>
void GemmTile(const RowGemm<T>& g, const PanelBlock<E>& block, Start start, const RowTile& tile,
              Ahead next) {
  const RunsOfK& k = block.k;
  Packet<T> acc[M][NV];
  const int64_t column = block.panel * g.panel_stride;
  // The number of valid columns in this panel.
  const int64_t n = std::min<int64_t>(NV * kLanes<T>, g.columns - column);
  const int64_t done = DoneDepth<E>(tile, k.run);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    StartRow(g, start, block.vector, g.c[tile.row + m] + column, n, acc[m]);
    if constexpr (kIsGroup<E>) AddDone<NV>(tile, m, acc[m]);
  }
  auto a = TileOfA<E, M, NV, Gated>(g.a + tile.row, k.a_at + done);
  RowsOfB<E> b = RowsOfB<E>::template OfPanel<NV>(block.b, k.b_depth, k.b_at + done);
  for (int64_t r = 0; r < k.runs; ++r) {
    MultiplyRows<T, M, NV>(a, b, k.run - done, g.batch, next, acc);
    for (int m = 0; m < M; ++m) a.row[m] += k.a_stride * (Gated ? NV : 1);
    b = b.From(k.b_stride);
    next.at += k.run * next.step;
  }
  StoreRows(g, start, tile.row, column, n, acc);
}

// One tile of a panel in halves. The sums of whole rows of a panel begin and end in C.
template <typename T, bool Gated>
EIGEN_DONT_INLINE void GemmHalvedTile(const RowGemm<T>& g, const PanelBlock<T>& block, Start start,
                                      const RowTile& tile, const Ahead& next) {
  constexpr int NV = 4, V = kLanes<T>;
  alignas(64) static constexpr T kZeros[NV * V] = {};
  alignas(64) T buffer[kHalvedRows][NV * V];
  const T* first[kHalvedRows];
  T* sums[kHalvedRows];
  const int64_t column = block.panel * g.panel_stride;
  const int64_t n = std::min<int64_t>(NV * V, g.columns - column);
  const bool in_place = n == NV * V && g.scale == nullptr;
  const bool accumulates = start == Start::kAccumulate && g.scale == nullptr;
  for (int m = 0; m < tile.rows; ++m) {
    T* const c = g.c[tile.row + m] + column;
    sums[m] = in_place ? c : buffer[m];
    first[m] = accumulates ? sums[m] : start == Start::kBias ? g.bias + block.vector * V : kZeros;
    if (accumulates && !in_place) std::copy(c, c + n, buffer[m]);
  }
  MultiplyHalved<T, Gated>(
      {g.a + tile.row, tile.rows, block.b, block.k, first, sums, g.batch, next});
  if (in_place) return;
  for (int m = 0; m < tile.rows; ++m) {
    Packet<T> acc[1][NV];
    for (int v = 0; v < NV; ++v) acc[0][v] = Load(buffer[m] + v * V);
    StoreRows(g, start, tile.row + m, column, n, acc);
  }
}

// One tile of quads: a whole K, with Start::kZero or Start::kBias.
template <int NV>
EIGEN_DONT_INLINE void GemmQuadTile(const RowGemm<float>& g, const PanelBlock<Quad>& block,
                                    const RowTile& tile, const Ahead& next) {
  constexpr int V = kLanes<float>;
  Packet<float> acc[kTileRows<NV>][NV];
  const int64_t column = block.panel * g.panel_stride, n = g.columns - column;
  for (int m = 0; m < tile.rows; ++m) {
    StartRow(g, g.start, block.vector, g.c[tile.row + m], n, acc[m]);
  }
  MultiplyQuadRows<NV>(g.a + tile.row, tile.rows, block.b, block.k.run, next, acc);
  for (int m = 0; m < tile.rows; ++m) {
    for (int v = 0; v < NV; ++v) {
      StoreFirst(g.c[tile.row + m] + column + v * V, acc[m][v], n - v * V);
    }
  }
}

// A block of K of all panels, in row tiles of whole panels.
template <typename T, int NV, bool Gated, typename E>
EIGEN_ALWAYS_INLINE void GemmTiles(const RowGemm<T>& g, const Panels<E, NV>& panels,
                                   const RunsOfK& k, Start start) {
  constexpr int M = kTileRows<NV>;
  const int64_t tiles = CeilDiv(g.rows, M);
  const RowTiles<E, NV> row_tiles(g.rows);
  for (int64_t p = 0; p < panels.count(); ++p) {
    const PanelBlock<E> block = panels.Block(p, k);
    const E* next = panels.Row(p + 1, k.b_at);
    row_tiles.ForEach(g.a, block, [&](const RowTile& tile) {
      const Ahead ahead =
          AheadOf(next, k.runs * k.run, NV * kLanes<T> * sizeof(E), tile.row, g.rows, tiles);
      if constexpr (std::is_same_v<E, Quad>) {
        GemmQuadTile<NV>(g, block, tile, ahead);
      } else {
        WithConstant<IsHalved<E>(NV) ? 1 : M>(tile.rows, [&](auto m) {
          GemmTile<T, decltype(m)::value, NV, Gated>(g, block, start, tile, ahead);
        });
      }
    });
  }
}

// Panels [panel0, panel1) of NV vectors each, on operands E. `stride`: see Panels. The last panel
// of a dense product may have fewer vectors than the panels before it.
template <typename T, int NV, bool Gated = false, typename E = T>
void GemmPanels(const RowGemm<T>& g, int64_t panel0, int64_t panel1, int64_t stride = NV) {
  const Panels<E, NV> panels = {
      static_cast<const E*>(g.b), {panel0, panel1, g.reversed}, g.k.b_depth, stride};
  // If all rows are in one tile, each block is used only once, so smaller blocks would not help. A
  // panel with a header is not divided.
  const bool one_tile = g.batch != BatchRows::kMany || kHeaderOperands<E> > 0;
  // The blocks must not depend on the rows, which depend on the threads: with `scale` they
  // determine the rounding.
  const BlocksOfK blocks(g.k, one_tile ? g.k.run * g.k.runs : kDepthBlock);
  // Blocks of K in the outer loop, panels in the inner loop: a block of A stays in the cache for
  // all panels.
  for (int64_t i = 0; i < blocks.count(); ++i) {
    const RunsOfK k = blocks.at(i);
    const Start start = i == 0 ? g.start : Start::kAccumulate;
    if constexpr (IsHalved<E>(NV)) {
      if (g.rows > 1) {
        ForHalvedTiles<T>(g.rows, panels, k, k.run * k.runs,
                          [&](const RowTile& tile, const PanelBlock<T>& block, const Ahead& ahead) {
                            GemmHalvedTile<T, Gated>(g, block, start, tile, ahead);
                          });
        continue;
      }
    }
    GemmTiles<T, NV, Gated>(g, panels, k, start);
  }
}

// Gate panels of `nv` vectors; `nv` is 3 or 4.
template <typename T>
void GemmGatePanels(const RowGemm<T>& g, int nv, int64_t panel0, int64_t panel1) {
  if (g.gated && nv == 3) return GemmPanels<T, 3, /*Gated=*/true>(g, panel0, panel1);
  if (g.gated) return GemmPanels<T, 4, /*Gated=*/true>(g, panel0, panel1);
  WithOperand<T>(g.operands, [&](auto e) {
    using E = decltype(e);
    if (nv == 3) return GemmPanels<T, 3, false, E>(g, panel0, panel1);
    GemmPanels<T, 4, false, E>(g, panel0, panel1);
  });
}

// The number of vectors in panel p of a dense product. The columns fill `vectors` vectors, four in
// each panel.
inline int PanelVectors(int64_t vectors, int64_t p) {
  return static_cast<int>(std::min<int64_t>(4, vectors - 4 * p));
}

// Panels [panel0, panel1) of a dense product. A panel has four vectors, the last panel may have
// fewer.
template <typename T>
void GemmDense(const RowGemm<T>& g, int64_t panel0, int64_t panel1) {
  const int64_t vectors = CeilDiv(g.columns, kLanes<T>);
  const int64_t full = std::min(panel1, vectors / 4);
  WithOperand<T>(g.operands, [&](auto e) {
    using E = decltype(e);
    if (full > panel0) GemmPanels<T, 4, false, E>(g, panel0, full);
    if (panel1 > vectors / 4 && vectors % 4 != 0) {
      WithConstant<3>(static_cast<int>(vectors % 4), [&](auto nv) {
        GemmPanels<T, decltype(nv)::value, false, E>(g, vectors / 4, vectors / 4 + 1,
                                                     /*stride=*/4);
      });
    }
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
