// The recurrent product of one step. The cell runs on the sums in the product's register tiles
// (Note [Cells]).
#ifndef TF_RNN_OPS_CC_CPU_PASS_FORWARD_STEP_PRODUCT_H_
#define TF_RNN_OPS_CC_CPU_PASS_FORWARD_STEP_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/quads.h"
#include "cc/cpu/product/row_tiles.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Rows that are multiplied by weights.
template <typename E>
struct WeightedRows {
  const E* const* a;
  int64_t rows;
  BatchRows batch = BatchRows::kMany;
  bool gated = false;  // see RowGemm
};

// The recurrent product of one step.
template <typename E>
struct StepProduct {
  WeightedRows<E> h;  // rows of h or their copies
  int64_t depth;      // K in operands
  const E* panels;    // packed recurrent weights
  bool reversed;      // see PanelOrder
};

// One row tile of RunCell: the products of a block of K, which begin a sum, complete a sum, or
// both. Unfinished sums are stored in the gate buffer. `done` as in GemmTile.
template <typename T, int M, bool Gated, typename E, typename Cell, typename Done>
void RunCellTile(const Cell& cell, const StepProduct<E>& product, const PanelBlock<E>& block,
                 int64_t row, const Ahead& ahead, const Done& done) {
  constexpr int NV = Cell::kVectors;
  constexpr int V = kLanes<T>;
  const RunsOfK& k = block.k;
  Packet<T> acc[M][NV];
  const int64_t done_depth = done.Depth(k.run);
  std::conditional_t<Gated, GatedRowsOfA<E, M, NV>, RowsOfA<E, M>> a;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    a.row[m] = product.h.a[row + m] + (k.a_at + done_depth) * (Gated ? NV : 1);
    if (k.a_at == 0) {
      cell.Init(row + m, block.panel, acc[m]);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[m][v] = Load(cell.Sums(row + m, block.panel) + v * V);
    }
  }
  done.AddTo(acc);
  MultiplyRows<T, M, NV>(a, block.b + (k.b_at + done_depth) * NV * V, NV * V, k.run - done_depth,
                         product.h.batch, ahead, acc);
  const bool last = k.a_at + k.run == product.depth;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    if (last) {
      cell.Finish(row + m, block.panel, acc[m]);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) Store(cell.Sums(row + m, block.panel) + v * V, acc[m][v]);
    }
  }
}

// One row tile of RunCell on quads: a whole K.
template <typename Cell>
EIGEN_DONT_INLINE void RunQuadCellTile(const Cell& cell, const StepProduct<Quad>& product,
                                       const PanelBlock<Quad>& block, int64_t row, int rows,
                                       const Ahead& ahead) {
  constexpr int NV = Cell::kVectors;
  Packet<float> acc[kTileRows<NV>][NV];
  for (int m = 0; m < rows; ++m) cell.Init(row + m, block.panel, acc[m]);
  MultiplyQuadRows<NV>(product.h.a + row, rows, block.b, product.depth, ahead, acc);
  for (int m = 0; m < rows; ++m) cell.Finish(row + m, block.panel, acc[m]);
}

// The number of rows of a panel that stay in the first-level cache while the row tiles use them.
// With 32 registers a tile is so large that the second-level cache is fast enough.
constexpr int64_t kStepDepth = kVectorRegisters == 32 ? std::numeric_limits<int64_t>::max() : 256;

// Runs the recurrent product and the cell on all rows of a step for panels [panel0, panel1). With
// `Gated` the rows of A are interleaved as in GatedRowsOfA.
template <typename T, bool Gated, typename E, typename Cell>
void RunCell(const Cell& cell, const StepProduct<E>& product, int64_t panel0, int64_t panel1) {
  constexpr int NV = Cell::kVectors;
  constexpr int M = kTileRows<NV>;
  constexpr int64_t ldb = NV * kLanes<T>;
  const int64_t tiles = CeilDiv(product.h.rows, M);
  const bool whole = tiles == 1 || kHeaderOperands<E> > 0;
  const int64_t depth = whole ? product.depth : std::min(product.depth, kStepDepth);
  const PanelOrder order = {panel0, panel1, product.reversed};
  RowTiles<E, NV, Gated> row_tiles(product.h.rows);
  const RunsOfK all = RunsOfK::Dense(product.depth);
  auto panel_at = [&](int64_t q) { return product.panels + order.at(q) * product.depth * ldb; };
  for (int64_t q = 0; q < order.count(); ++q) {
    const E* next_panel = panel_at(std::min(q + 1, order.count() - 1));
    for (int64_t k0 = 0; k0 < product.depth; k0 += depth) {
      const PanelBlock<E> block = {order.at(q), panel_at(q),
                                   all.PartOfRun(k0, std::min(depth, product.depth - k0))};
      const int64_t end = k0 + block.k.run;
      const E* next = end < product.depth ? block.b + end * ldb : next_panel;
      row_tiles.ForEach(product.h.a, block, [&](int64_t row, auto m, const auto& done) {
        const Ahead ahead = AheadOf(next, block.k.run, ldb * sizeof(E), row, product.h.rows, tiles);
        if constexpr (Operands<T, E>::kQuantized) {
          RunQuadCellTile(cell, product, block, row, m, ahead);
        } else {
          RunCellTile<T, decltype(m)::value, Gated>(cell, product, block, row, ahead, done);
        }
      });
    }
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_FORWARD_STEP_PRODUCT_H_
