// The recurrent product of one step, whose register tiles end in the cell (Note [Cells]).
#ifndef TF_RNN_OPS_CC_CPU_PASS_FORWARD_STEP_PRODUCT_H_
#define TF_RNN_OPS_CC_CPU_PASS_FORWARD_STEP_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/row_tiles.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The recurrent product of one step.
template <typename T, typename E = T>
struct StepProduct {
  int64_t rows;       // alive at the step
  const E* const* a;  // [rows] what the weights multiply: h_prev, or what was made of it
  int64_t depth;      // K in operands
  const E* panels;    // packed recurrent weights
  int few_rows;       // see MultiplyRows
  bool reversed;      // see PanelOrder
};

// One row tile of RunCell: the products of `depth` operands from k0 on, which begin a sum, end it,
// or both. Unfinished sums wait in the gate buffer. `done` has the products of the first operands.
template <typename T, int M, bool Gated, typename E, typename Cell, typename Done>
void RunCellTile(const Cell& cell, const StepProduct<T, E>& product, int64_t i, int64_t p,
                 const E* b, int64_t k0, int64_t depth, const Ahead& ahead, const Done& done,
                 int64_t done_row) {
  constexpr int NV = Cell::kVectors;
  constexpr int V = kLanes<T>;
  Packet<T> acc[M][NV];
  const int64_t done_depth = done.Depth(depth);
  std::conditional_t<Gated, GatedRowsOfA<E, M, NV>, RowsOfA<E, M>> a;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    a.row[m] = product.a[i + m] + (k0 + done_depth) * (Gated ? NV : 1);
    if (k0 == 0) {
      cell.Init(i + m, p, acc[m]);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[m][v] = Load(cell.Sums(i + m, p) + v * V);
    }
  }
  done.AddTo(done_row, acc);
  MultiplyRows<T, M, NV>(a, b + done_depth * NV * V, NV * V, depth - done_depth, product.few_rows,
                         ahead, acc);
  const bool last = k0 + depth == product.depth;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    if (last) {
      cell.Finish(i + m, p, acc[m]);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) Store(cell.Sums(i + m, p) + v * V, acc[m][v]);
    }
  }
}

// Rows of a panel that stay in the first-level cache while the row tiles pass over them. With 32
// registers a tile is large enough for the second level to keep up.
constexpr int64_t kStepDepth = kVectorRegisters == 32 ? std::numeric_limits<int64_t>::max() : 256;

// All rows of a step for panels [panel0, panel1): the recurrent product and the cell. With `Gated`
// the rows of A are as in GatedRowsOfA.
template <typename T, bool Gated, typename E, typename Cell>
void RunCell(const Cell& cell, const StepProduct<T, E>& product, int64_t panel0, int64_t panel1) {
  constexpr int NV = Cell::kVectors;
  constexpr int M = kTileRows<NV>;
  constexpr int64_t ldb = NV * kLanes<T>;
  const int64_t tiles = CeilDiv(product.rows, M);
  const int64_t block = tiles == 1 ? product.depth : std::min(product.depth, kStepDepth);
  const PanelOrder order = {panel0, panel1, product.reversed};
  RowTiles<E, NV, Gated> row_tiles(product.rows);
  for (int64_t q = 0; q < order.count(); ++q) {
    const int64_t p = order.at(q);
    const E* panel = product.panels + p * product.depth * ldb;
    const E* next_panel =
        product.panels + order.at(std::min(q + 1, order.count() - 1)) * product.depth * ldb;
    for (int64_t k0 = 0; k0 < product.depth; k0 += block) {
      const int64_t depth = std::min(block, product.depth - k0);
      const E* b = panel + k0 * ldb;
      const E* next = k0 + depth < product.depth ? b + depth * ldb : next_panel;
      row_tiles.ForEach(product.a, k0, {1, depth, 0, 0}, b,
                        [&](int64_t i, auto m, const auto& done, int64_t done_row) {
                          const Ahead ahead =
                              AheadOf(next, depth, ldb * sizeof(E), i, product.rows, tiles);
                          RunCellTile<T, decltype(m)::value, Gated>(cell, product, i, p, b, k0,
                                                                    depth, ahead, done, done_row);
                        });
    }
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_FORWARD_STEP_PRODUCT_H_
