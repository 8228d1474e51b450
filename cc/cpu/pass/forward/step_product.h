// The recurrent product of one step. The cell runs on the sums in the product's register tiles
// (Note [Cells]).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/row_tiles.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Rows of operands that are multiplied by weights.
struct WeightedRows {
  const void* const* a;
  int64_t rows;
  BatchRows batch = BatchRows::kMany;
  bool gated = false;  // see RowGemm
};

// The recurrent product of one step.
template <typename E>
struct StepProduct {
  WeightedRows h;   // rows of h or their copies
  int64_t depth;    // K in operands
  const E* panels;  // packed recurrent weights
  bool reversed;    // see PanelOrder
};

// The sums of a tile of M rows before a block of K: those of the cell, or of the blocks before.
template <typename T, typename E, int M, int NV, typename Cell>
EIGEN_ALWAYS_INLINE void LoadSums(const Cell& cell, const PanelBlock<E>& block, const RowTile& tile,
                                  Packet<T> (&acc)[M][NV]) {
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    if (block.k.a_at == 0) {
      cell.Init(tile.row + m, block.panel, acc[m]);
    } else {
      const T* const sums = cell.Sums(tile.row + m, block.panel);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[m][v] = Load(sums + v * kLanes<T>);
    }
    if constexpr (kIsGroup<E>) AddDone<NV>(tile, m, acc[m]);
  }
}

// Runs the cell on the sums of a tile.
template <typename Cell, int NV>
EIGEN_DONT_INLINE void FinishTile(const Cell& cell, const RowTile& tile, int64_t panel,
                                  const Packet<float> (*acc)[NV]) {
  for (int m = 0; m < tile.rows; ++m) cell.Finish(tile.row + m, panel, acc[m]);
}

// Runs the cell on the sums of a tile of M rows, or stores sums that miss a block of K.
//
// WHY the sums of small tiles of pairs go through memory to the cell: otherwise the cell would be
// compiled again for each number of rows. One row has too little work to hide that way, and large
// tiles, which most rows are in, would take 1 to 5 % longer.
template <typename T, typename E, int M, int NV, typename Cell>
EIGEN_ALWAYS_INLINE void FinishSums(const Cell& cell, bool last, const PanelBlock<E>& block,
                                    const RowTile& tile, const Packet<T> (&acc)[M][NV]) {
  constexpr bool kIsSmall = M > 1 && M < kTileRows<NV> - 1;
  if constexpr (kIsGroup<E> && kIsSmall) return FinishTile<Cell, NV>(cell, tile, block.panel, acc);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    if (last) {
      cell.Finish(tile.row + m, block.panel, acc[m]);
    } else {
      T* const sums = cell.Sums(tile.row + m, block.panel);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) Store(sums + v * kLanes<T>, acc[m][v]);
    }
  }
}

// One tile of M rows of RunCell: a block of K, which begins a sum, completes a sum, or both.
template <typename T, int M, bool Gated, typename E, typename Cell>
EIGEN_ALWAYS_INLINE void RunCellTile(const Cell& cell, const StepProduct<E>& product,
                                     const PanelBlock<E>& block, const RowTile& tile,
                                     const Ahead& ahead) {
  constexpr int NV = Cell::kVectors;
  const RunsOfK& k = block.k;
  const int64_t done = DoneDepth<E>(tile, k.run);
  Packet<T> acc[M][NV];
  LoadSums<T>(cell, block, tile, acc);
  const auto a = TileOfA<E, M, NV, Gated>(product.h.a + tile.row, k.a_at + done);
  const auto b = RowsOfB<E>::template OfPanel<NV>(block.b, k.b_depth, k.b_at + done);
  MultiplyRows<T, M, NV>(a, b, k.run - done, product.h.batch, ahead, acc);
  FinishSums<T>(cell, k.a_at + k.run == product.depth, block, tile, acc);
}

// RunCellTile in a function of its own.
template <typename T, int M, bool Gated, typename E, typename Cell>
EIGEN_DONT_INLINE void CallCellTile(const Cell& cell, const StepProduct<E>& product,
                                    const PanelBlock<E>& block, const RowTile& tile,
                                    const Ahead& ahead) {
  RunCellTile<T, M, Gated>(cell, product, block, tile, ahead);
}

// WHY: on AVX2 the calls make small steps of tanh and GRU up to 9 % slower
// (docs/design/measurements.md, "Tried on CPUs"). With 32 registers tiles are larger and have more
// sizes, and GCC compiles RunCell with all of them for more than eight minutes.
constexpr bool kCellTilesInline = kVectorRegisters == 16;

// One row tile of RunCell on a panel in halves.
template <typename T, bool Gated, typename Cell>
EIGEN_DONT_INLINE void RunHalvedCellTile(const Cell& cell, const StepProduct<T>& product,
                                         const PanelBlock<T>& block, const RowTile& tile,
                                         const Ahead& ahead) {
  constexpr int NV = 4, V = kLanes<T>;
  alignas(64) T buffer[kHalvedRows][NV * V];
  const T* first[kHalvedRows];
  T* sums[kHalvedRows];
  const RunsOfK& k = block.k;
  const bool last = k.a_at + k.run == product.depth;
  for (int m = 0; m < tile.rows; ++m) {
    T* const unfinished = cell.Sums(tile.row + m, block.panel);
    first[m] = k.a_at == 0 ? cell.InitialSums(tile.row + m, block.panel) : unfinished;
    sums[m] = last ? buffer[m] : unfinished;
  }
  MultiplyHalved<T, Gated>(
      {product.h.a + tile.row, tile.rows, block.b, k, first, sums, product.h.batch, ahead});
  for (int m = 0; last && m < tile.rows; ++m) {
    Packet<T> acc[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[v] = Load(buffer[m] + v * V);
    cell.Finish(tile.row + m, block.panel, acc);
  }
}

// One row tile of RunCell on quads: a whole K.
template <typename Cell>
EIGEN_DONT_INLINE void RunQuadCellTile(const Cell& cell, const StepProduct<Quad>& product,
                                       const PanelBlock<Quad>& block, const RowTile& tile,
                                       const Ahead& ahead) {
  constexpr int NV = Cell::kVectors;
  Packet<float> acc[kTileRows<NV>][NV];
  for (int m = 0; m < tile.rows; ++m) cell.Init(tile.row + m, block.panel, acc[m]);
  MultiplyQuadRows<NV>(product.h.a + tile.row, tile.rows, block.b, product.depth, ahead, acc);
  for (int m = 0; m < tile.rows; ++m) cell.Finish(tile.row + m, block.panel, acc[m]);
}

// The most rows of a panel in a block of panels in halves.
constexpr int64_t kHalvedDepth = 1024;

// The number of rows of a panel that stay in the first-level cache while the row tiles use them.
// With 32 registers a tile is so large that the second-level cache is fast enough.
constexpr int64_t kStepDepth = kVectorRegisters == 32 ? std::numeric_limits<int64_t>::max() : 256;

// Runs the recurrent product and the cell on all rows of a step for panels [panel0, panel1). With
// `Gated` the rows of A are interleaved as in GatedRowsOfA.
template <typename T, bool Gated, typename E, typename Cell>
void RunCell(const Cell& cell, const StepProduct<E>& product, int64_t panel0, int64_t panel1) {
  constexpr int NV = Cell::kVectors;
  constexpr int M = kTileRows<NV>;
  const int64_t rows = product.h.rows, tiles = CeilDiv(rows, M);
  const RunsOfK all = RunsOfK::Dense(product.depth);
  const Panels<E, NV> panels = {product.panels, {panel0, panel1, product.reversed}, product.depth};
  if constexpr (IsHalved<E>(NV)) {
    if (rows > 1) {
      ForHalvedTiles<T>(rows, panels, all, rows <= kHalvedRows ? product.depth : kHalvedDepth,
                        [&](const RowTile& tile, const PanelBlock<T>& block, const Ahead& ahead) {
                          RunHalvedCellTile<T, Gated>(cell, product, block, tile, ahead);
                        });
      return;
    }
  }
  const bool whole = tiles == 1 || kIsGroup<E>;
  const int64_t depth = whole ? product.depth : std::min(product.depth, kStepDepth);
  const RowTiles<E, NV> row_tiles(rows);
  for (int64_t p = 0; p < panels.count(); ++p) {
    for (int64_t k0 = 0; k0 < product.depth; k0 += depth) {
      const PanelBlock<E> block =
          panels.Block(p, all.PartOfRun(k0, std::min(depth, product.depth - k0)));
      const int64_t end = k0 + block.k.run;
      const E* next = end < product.depth ? panels.Row(p, end) : panels.Row(p + 1, 0);
      row_tiles.ForEach(product.h.a, block, [&](const RowTile& tile) {
        const Ahead ahead =
            AheadOf(next, block.k.run, NV * kLanes<T> * sizeof(E), tile.row, rows, tiles);
        if constexpr (std::is_same_v<E, Quad>) {
          RunQuadCellTile(cell, product, block, tile, ahead);
        } else {
          WithConstant<IsHalved<E>(NV) ? 1 : M>(tile.rows, [&](auto m) {
            constexpr int kRows = decltype(m)::value;
            if constexpr (kCellTilesInline) {
              RunCellTile<T, kRows, Gated>(cell, product, block, tile, ahead);
            } else {
              CallCellTile<T, kRows, Gated>(cell, product, block, tile, ahead);
            }
          });
        }
      });
    }
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
