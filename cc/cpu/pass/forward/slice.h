// The forward time loop of one layer, for a slice of the batch or a partition of the units.
//
// Note [Forward recurrence]
// A slice is a range of sorted sequences of one direction. It alternates between the input product
// of a step block and the steps of that block. A step block has as many steps as have about
// kStepBlockRows rows, so that their gate rows are still in the cache when the steps run. Either
// each thread runs its own slice, or all threads split the units of the only slice and synchronize
// at each step (Note [Stages]).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/forward/rows.h"
#include "cc/cpu/pass/forward/weights.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/slice.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/masks.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Limits |h|, see HiddenLimit.
template <typename T>
void LimitRow(const UnitRange& columns, T limit, T* h) {
  if (!(limit < std::numeric_limits<T>::infinity())) return;
  for (int64_t k = columns.begin; k < columns.end; k += kLanes<T>) {
    const int64_t n = columns.end - k;
    StoreFirst(h + k, Limit<T>(LoadFirst(h + k, n), limit), n);
  }
}

// A slice of one direction. It runs one step and a range of panels at a time.
template <typename T>
class ForwardSlice : public ForwardRows<T> {
  using Base = ForwardRows<T>;
  using Base::AliveAt, Base::layer_, Base::seq_, Base::s_, Base::dir_, Base::p_, Base::j0_;
  using Base::EnterBlock, Base::PrepareRows, Base::CopyRows, Base::CopyH, Base::OperandH;
  using Base::LoadStates, Base::QuantizeRows;
  using Base::steps_, Base::block_begin_, Base::block_rows_, Base::masks, Base::quantizes;

 public:
  ForwardSlice(const ForwardLayer<T>& layer, const SliceRange& range, int64_t ring_rows)
      : Base(layer, range, ring_rows), panels_(s_.panels()), two_stages_(s_.has_two_stages()) {}

  int64_t stages() const { return two_stages_ ? 2 * steps_ : steps_; }

  // The recurrent product of a step, or the second stage of a step, which needs all units of the
  // first.
  void RunStage(int64_t stage, const Share& share) {
    const int64_t step = two_stages_ ? stage / 2 : stage;
    if (two_stages_ && stage % 2 == 1) {
      if (s_.cell.whole_rows) return FinishWholeRows(step, share);
      const Range panels = share.Of(DensePanels<T>(s_.second_columns));
      return SecondProduct(step, panels.begin, panels.end);
    }
    const Range panels = share.Of(panels_);
    if (step == 0) LoadStates(panels.begin, panels.end);
    Step(step, panels.begin, panels.end);
  }

 private:
  // Runs one step for the units of panels [panel0, panel1). Where a step block begins, also runs
  // the input stage of the whole block.
  void Step(int64_t step, int64_t panel0, int64_t panel1) {
    EnterBlock(step);
    if (step == block_begin_) RunInputStage(panel0, panel1);
    PrepareRows(step);
    if (quantizes()) QuantizeRows(p_.h_prev, AliveAt(step), s_.hidden);
    layer_.cells.run(*this, layer_.cells.tensors, step, {panel0, panel1, step % 2 != 0});
    const int64_t panel_units = s_.panel_blocks() * kLanes<T>;
    const UnitRange units = {panel0 * panel_units, std::min(s_.units, panel1 * panel_units),
                             s_.units};
    if (!two_stages_) {
      CopyRows(step, units);
    } else if (s_.cell.has_second_gate() && layer_.recurrent_masks) {
      for (int64_t i = 0; i < AliveAt(step); ++i) {
        ScaleRow(layer_.recurrent_masks.row(s_.cell.second_gate, seq_.perm[j0_ + i]), units.begin,
                 units.end, p_.out[i]);
      }
    }
  }

  // The second product of a step for its dense panels [panel0, panel1): h = m * W_proj, or the
  // product that the cell completes.
  void SecondProduct(int64_t step, int64_t panel0, int64_t panel1) {
    EnterBlock(step);
    PrepareRows(step);
    const int64_t n = AliveAt(step);
    if (quantizes()) {
      QuantizeRows(p_.out, n, s_.units);
    } else {
      std::copy(p_.out, p_.out + n, p_.operands);
    }
    dir_.weights.SecondProduct(s_, {p_.operands, n, BatchRowsOf(seq_.batch)}, panel0, panel1, p_.h);
    const UnitRange columns = UnitsOfDensePanels<T>(panel0, panel1, s_.second_columns);
    for (int64_t i = 0; i < n; ++i) LimitRow(columns, layer_.h_limit, p_.h[i]);
    if (layer_.cells.after_second != nullptr) {
      layer_.cells.after_second(*this, layer_.cells.tensors, step, columns);
    }
    CopyRows(step, columns);
  }

  // Runs a partition of the rows of a step, for a cell that finishes whole rows.
  void FinishWholeRows(int64_t step, const Share& share) {
    EnterBlock(step);
    PrepareRows(step);
    const Range rows = share.Of(AliveAt(step));
    layer_.cells.finish_whole_rows(*this, layer_.cells.tensors, rows);
    if (!masks()) return;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      CopyH(j0_ + i, p_.h[i], 0, s_.hidden, OperandH(step + 1, i));
    }
  }

  // Computes the part of the gates that comes from x, for the rows of a step block.
  void RunInputStage(int64_t panel0, int64_t panel1) {
    if (layer_.adds_x) {
      const Range blocks = s_.BlocksOf(panel0, panel1);
      for (int64_t row = 0; row < block_rows_; ++row) {
        AddXToGates(static_cast<const T*>(p_.x[row]), blocks, p_.gates[row]);
      }
      return;
    }
    const bool gated = static_cast<bool>(layer_.input_masks);
    dir_.weights.InputProduct(s_, {p_.x, block_rows_, BatchRows::kMany, gated}, layer_.in, panel0,
                              panel1, p_.gates);
  }

  void AddXToGates(const T* row, const Range& blocks, T* gates) const {
    constexpr int V = kLanes<T>;
    for (int64_t u = blocks.begin; u < blocks.end; ++u) {
      const Packet<T> x = LoadFirst(row + u * V, s_.units - u * V);
      T* g = gates + (u * s_.cell.buffer + s_.cell.input_at) * V;
      const T* bias = dir_.weights.packed.bias + u * s_.cell.input.count * V;
      for (int v = 0; v < s_.cell.input.count; ++v) {
        Store(g + v * V, padd(Load(bias + v * V), x));
      }
    }
  }

  const int64_t panels_;
  const bool two_stages_;
};

// Runs the time loops of all directions of a layer.
template <typename T>
void RunForwardRecurrence(const ForwardLayer<T>& layer, const Split& split,
                          const ParallelFor& parallel) {
  const Sequence& seq = *layer.seq;
  const int64_t ring_rows = RingRows(split, seq.batch, seq.rows);
  RunSlices(seq, layer.sizes.num_dirs, split, parallel,
            [&](const SliceRange& range) { return ForwardSlice<T>(layer, range, ring_rows); });
}

// The functions of CellRunner for one cell. `rows` has the rows of the step.
template <typename T, typename Cell>
struct CellSteps {
  using Rows = ForwardRows<T>;
  using Tensors = typename Cell::template Tensors<T>;
  static constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);

  // Runs the recurrent product on operands E and the cells. `Gated`: see RunCell.
  template <typename E, bool Gated>
  static void Run(const Rows& rows, const void* tensors, int64_t step, const PanelOrder& order) {
    const Sizes<T>& s = rows.sizes();
    RunPanels<Gated>(
        rows.RowsOf(step), Typed(tensors),
        StepProduct<E>{rows.WeightedH(step), OperandsOf<E>(s.hidden),
                       reinterpret_cast<const E*>(rows.weights().packed.recurrent), order.reversed},
        s.blocks, order);
  }

  // Runs the product and the cells for the rows of a step. `blocks`: those of all units.
  template <bool Gated, typename E>
  static void RunPanels(StepRows<T> rows, const Tensors& tensors, StepProduct<E> product,
                        int64_t blocks, const PanelOrder& order) {
    if constexpr (kFormat.gates > 1) {
      RunCell<T, Gated>(CellOf<kFormat.recurrent.count>(rows, tensors), product, order.begin,
                        order.end);
    } else {
      // Dense panels have four unit blocks each, the last panel may have fewer.
      const int64_t full = blocks / 4;
      RunCell<T, false>(CellOf<4>(rows, tensors), product, order.begin, std::min(order.end, full));
      if (order.end <= full) return;
      product.panels += DensePanelOffset<T>(product.depth, full);
      rows.first_block = 4 * full;
      WithConstant<3>(static_cast<int>(blocks % 4), [&](auto nv) {
        RunCell<T, false>(CellOf<decltype(nv)::value>(rows, tensors), product, 0, 1);
      });
    }
  }

  static void RunUnpacked(const Rows& rows, const void* tensors, int64_t step,
                          const PanelOrder& order) {
    const auto cell = CellOf<kFormat.recurrent.count>(rows.RowsOf(step), Typed(tensors));
    RunUnpackedCell(rows.sizes(), cell, rows.weights().source.exact.recurrent, rows.AliveAt(step),
                    rows.sizes().BlocksOf(order.begin, order.end));
  }

  static void AfterSecond(const Rows& rows, const void* tensors, int64_t step,
                          const UnitRange& units) {
    const ForwardPointers<T>& p = rows.pointers();
    for (int64_t i = 0; i < rows.AliveAt(step); ++i) {
      Cell::template AfterSecond<T>(units, {rows.gates(i), p.h_prev[i], p.h[i]}, Typed(tensors));
    }
  }

  // Runs only the recurrent product.
  static void RunProduct(const Rows& rows, const void*, int64_t step, const PanelOrder& order) {
    const WeightedRows h = rows.WeightedH(step);
    T** const sums = rows.pointers().sums;
    for (int64_t i = 0; i < h.rows; ++i) sums[i] = rows.gates(i) + rows.sizes().recurrent_part;
    rows.weights().RecurrentProduct(rows.sizes(), h, order, sums);
  }

  static void FinishWholeRows(const Rows& rows, const void* tensors, const Range& range) {
    const ForwardPointers<T>& p = rows.pointers();
    const Sizes<T>& s = rows.sizes();
    for (int64_t i = range.begin; i < range.end; ++i) {
      const T* gates = rows.gates(i);
      Cell::template FinishWholeRow<T>(
          {gates, gates + s.recurrent_part, p.c_prev[i], p.c[i], p.h[i], s.units}, Typed(tensors));
    }
  }

 private:
  static const Tensors& Typed(const void* tensors) { return *static_cast<const Tensors*>(tensors); }
  // The cell on panels of NV vectors.
  template <int NV>
  static auto CellOf(const StepRows<T>& rows, const Tensors& tensors) {
    return typename Cell::template Forward<T, NV>(rows, tensors);
  }
};

// The runner of a cell for a layer. `tensors` must live longer than the runner.
template <typename Cell, typename T>
CellRunner<T> CellRunnerOf(const ForwardLayer<T>& layer,
                           const typename Cell::template Tensors<T>* tensors) {
  using Steps = CellSteps<T, Cell>;
  constexpr CellFormat kFormat = Steps::kFormat;
  CellRunner<T> runner;
  runner.tensors = tensors;
  if constexpr (kFormat.whole_rows) {
    runner.run = &Steps::RunProduct;
    runner.finish_whole_rows = &Steps::FinishWholeRows;
  } else {
    WithOperand<T>(layer.sizes.operands, [&](auto e) {
      using E = decltype(e);
      constexpr bool kRuns = std::is_same_v<E, Pair>   ? kFormat.pairs
                             : std::is_same_v<E, Quad> ? kFormat.quads
                                                       : true;
      if constexpr (kRuns) runner.run = &Steps::template Run<E, false>;
    });
    // Rare modes have kernels for exact operands only.
    if constexpr (Cell::kInStacks && kFormat.gates > 1) {
      if (layer.recurrent_masks) runner.run = &Steps::template Run<T, true>;
    }
    if constexpr (Cell::kInStacks && kFormat.unpacked) {
      if (layer.dirs[0].weights.unpacked) runner.run = &Steps::RunUnpacked;
    }
    if constexpr (kFormat.has_second_gate()) runner.after_second = &Steps::AfterSecond;
  }
  return runner;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
