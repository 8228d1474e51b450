// The weights of one direction for the forward pass: packed, or unpacked in the caller's tensors
// (plain_weights.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/cpu/pass/forward/plain_weights.h"
#include "cc/cpu/pass/forward/step_product.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/packed_weights.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

template <typename T>
struct ForwardWeights {
  WeightSource<T> source = {};
  PackedWeights<T> packed = {};  // only the biases if `plain`
  bool plain = false;

  // Allocates memory for `in` columns of x.
  void Take(Arena& arena, const Sizes<T>& s, int64_t in) {
    packed = plain ? TakePackedBiases(arena, s) : TakePackedWeights(arena, s, in);
  }

  // The part of the gates that comes from `in` columns of x, for gate panels [panel0, panel1).
  void InputProduct(const Sizes<T>& s, const WeightedRows& x, int64_t in, int64_t panel0,
                    int64_t panel1, T* const* gates) const {
    if (plain) {
      const Range blocks = s.BlocksOf(panel0, panel1);
      for (int64_t i = 0; i < x.rows; ++i) {
        PlainInputProduct(s, source.exact.input, packed.bias, static_cast<const T*>(x.a[i]), in,
                          blocks, gates[i]);
      }
      return;
    }
    RowGemm<T> g = Product(s, x, in, packed.input, s.gate_part, gates);
    g.panel_stride = s.panel_vectors() * kLanes<T>;
    g.bias = packed.bias;
    g.start = s.cell.whole_rows ? Start::kZero : Start::kBias;
    if (s.dense) {
      GemmDense(g, panel0, panel1);
    } else {
      GemmGatePanels(g, s.cell.input.count, panel0, panel1);
    }
  }

  // Only the recurrent product, to `sums`, for the gate panels of `order`.
  void RecurrentProduct(const Sizes<T>& s, const WeightedRows& h, const PanelOrder& order,
                        T* const* sums) const {
    RowGemm<T> g = Product(s, h, s.hidden, packed.recurrent, s.gate_part, sums);
    g.panel_stride = s.panel_vectors() * kLanes<T>;
    g.reversed = order.reversed;
    GemmGatePanels(g, s.cell.recurrent.count, order.begin, order.end);
  }

  // The recurrent product on operands E and the cells. make(NV, first_block) returns the cell of
  // panels of NV vectors (a constant). Panel 0 begins at unit block `first_block`.
  template <typename Cell, typename E, typename Make>
  void RunCells(const Sizes<T>& s, const WeightedRows& h, const PanelOrder& order,
                Make&& make) const {
    constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
    constexpr bool kRareModes = Cell::kInStacks && !kIsGroup<E>;
    StepProduct<E> product = {h, OperandsOf<E>(s.hidden),
                              reinterpret_cast<const E*>(packed.recurrent), order.reversed};
    const auto cell = make(Vectors<kFormat.gates == 1 ? 4 : kFormat.recurrent.count>(), 0);
    if constexpr (kRareModes && kFormat.plain) {
      if (plain) {
        const auto step = make(Vectors<kFormat.recurrent.count>(), 0);
        return RunPlainCell(s, step, source.exact.recurrent, h.rows,
                            s.BlocksOf(order.begin, order.end));
      }
    }
    if constexpr (kFormat.gates > 1) {
      if constexpr (kRareModes) {
        if (h.gated) return RunCell<T, /*Gated=*/true>(cell, product, order.begin, order.end);
      }
      RunCell<T, false>(cell, product, order.begin, order.end);
    } else {
      // Dense panels have four unit blocks each, the last panel may have fewer.
      const int64_t full = s.blocks / 4;
      RunCell<T, false>(cell, product, order.begin, std::min(order.end, full));
      if (order.end <= full) return;
      product.panels += DensePanelOffset<T>(product.depth, full);
      WithConstant<3>(static_cast<int>(s.blocks % 4),
                      [&](auto nv) { RunCell<T, false>(make(nv, 4 * full), product, 0, 1); });
    }
  }

  // h = m * W of the second product of a step, for its dense panels [panel0, panel1).
  void SecondProduct(const Sizes<T>& s, const WeightedRows& m, int64_t panel0, int64_t panel1,
                     T* const* h) const {
    if (plain) {
      const UnitRange columns = UnitsOfDensePanels<T>(panel0, panel1, s.second_columns);
      for (int64_t i = 0; i < m.rows; ++i) {
        PlainProjection(s, source.exact.second, static_cast<const T*>(m.a[i]), columns.begin,
                        columns.end, h[i]);
      }
      return;
    }
    GemmDense(Product(s, m, s.units, packed.second, s.second_columns, h), panel0, panel1);
  }

 private:
  template <int NV>
  using Vectors = std::integral_constant<int, NV>;

  // The product of rows of `width` values and panels of `columns` columns.
  static RowGemm<T> Product(const Sizes<T>& s, const WeightedRows& rows, int64_t width,
                            const char* panels, int64_t columns, T* const* to) {
    RowGemm<T> g = {rows.a, to, rows.rows, RunsOfK::Dense(s.depth(width)), panels, columns};
    g.batch = rows.batch;
    g.gated = rows.gated;
    g.operands = s.operands;
    return g;
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
