// The forward time loop of one layer, for a slice of the batch or a partition of the units.
//
// Note [Forward recurrence]
// A slice is a range of sorted sequences of one direction. It alternates between the input product
// of a step block and the steps of that block. A step block has as many steps as have about
// kStepBlockRows rows, so that their gate rows are still in the cache when the steps run. Either
// each thread runs its own slice, or all threads split the units of the only slice and synchronize
// at each step (Note [Stages]).
#ifndef TF_RNN_OPS_CC_CPU_PASS_FORWARD_SLICE_H_
#define TF_RNN_OPS_CC_CPU_PASS_FORWARD_SLICE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cc/cpu/pass/forward/layer.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/slice.h"
#include "cc/cpu/pass/weights/forward_weights.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/gate_masks.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/rows/states.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

constexpr int64_t kStepBlockRows = 256;

// The rows of the ring of one direction, and of its pointers for each thread. `rows`: R.
inline int64_t RingRows(const Split& split, int64_t batch, int64_t rows) {
  const int64_t of_blocks = split.slices * kStepBlockRows + batch;
  return split.slices == 1 ? std::min(of_blocks, rows) : of_blocks;
}

// A slice of one direction. It runs one step and a range of panels at a time.
template <typename T>
class ForwardSlice : public Slice<T, ForwardLayer<T>> {
  using Base = Slice<T, ForwardLayer<T>>;
  using Base::Alive, Base::layer_, Base::seq_, Base::s_, Base::dir_, Base::d_, Base::p_;
  using Base::j0_, Base::j1_, Base::pseudo_layer_, Base::steps_, Base::y_at_;

 public:
  ForwardSlice(const ForwardLayer<T>& layer, const SlicePlace& place, int64_t ring_rows)
      : ForwardSlice(layer, place, place.number * kStepBlockRows + place.j0,
                     place.worker * ring_rows) {}

  // Copies h0 for the first step of each sequence, if the products read copies.
  void Begin() const {
    if (!copies() && !rounds()) return;
    for (int64_t j = j0_; j < j1_; ++j) {
      const T* h0 = layer_.h0.at(pseudo_layer_, seq_.perm[j]);
      for (int64_t parity = 0; parity < 2; ++parity) {
        CopyH(j, h0, 0, s_.hidden, OperandH(parity, j - j0_));
      }
    }
  }

  int64_t stages() const { return two_stages_ ? 2 * steps_ : steps_; }

  // The recurrent product of a step, or the second stage of a step, which needs all units of the
  // first.
  void RunStage(int64_t stage, const Share& share) {
    const int64_t step = two_stages_ ? stage / 2 : stage;
    if (two_stages_ && stage % 2 == 1) {
      if (s_.cell.whole_rows) return FinishWholeRows(step, share);
      const Range panels = share.Of(DensePanels<T>(s_.second));
      return SecondProduct(step, panels.begin, panels.end);
    }
    const Range panels = share.Of(panels_);
    if (step == 0) LoadStates(panels.begin, panels.end);
    Step(step, panels.begin, panels.end);
  }

  // Runs the cell on rows of the step that FinishWholeRows has prepared.
  template <typename Cell>
  static void CellsOfWholeRows(const ForwardSlice& slice, const void* tensors, const Range& rows) {
    const auto& typed = *static_cast<const typename Cell::template Tensors<T>*>(tensors);
    const ForwardPointers<T>& p = slice.p_;
    const Sizes<T>& s = slice.s_;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const T* gates = p.gates[slice.gate_row_ + i];
      Cell::template FinishWholeRow<T>(
          {gates, gates + s.recurrent_part, p.c_prev[i], p.c[i], p.h[i], s.units}, typed);
    }
  }

  // The recurrent product of one step, for a cell that finishes whole rows.
  static void ProductOfWholeRows(const ForwardSlice& slice, const void*, int64_t step,
                                 const PanelOrder& order) {
    const ForwardPointers<T>& p = slice.p_;
    const WeightedRows h = slice.WeightedH(step);
    for (int64_t i = 0; i < h.rows; ++i) {
      p.sums[i] = p.gates[slice.gate_row_ + i] + slice.s_.recurrent_part;
    }
    slice.dir_.weights.RecurrentProduct(slice.s_, h, order, p.sums);
  }

  // Runs the cells after their second product, on rows that SecondProduct has prepared.
  template <typename Cell>
  static void CellsAfterSecond(const ForwardSlice& slice, const void* tensors, int64_t step,
                               const UnitRange& units) {
    const auto& typed = *static_cast<const typename Cell::template Tensors<T>*>(tensors);
    const int64_t n = slice.Alive(slice.TimeOf(step));
    const ForwardPointers<T>& p = slice.p_;
    for (int64_t i = 0; i < n; ++i) {
      Cell::template AfterSecond<T>(units, {p.gates[slice.gate_row_ + i], p.h_prev[i], p.h[i]},
                                    typed);
    }
  }

  // Runs the recurrent product on operands E and the cells of one step, on rows that Step has
  // prepared.
  template <typename Cell, typename E>
  static void RunCells(const ForwardSlice& slice, const void* tensors, int64_t step,
                       const PanelOrder& order) {
    const auto& typed = *static_cast<const typename Cell::template Tensors<T>*>(tensors);
    StepRows<T> rows = slice.RowsOf(step);
    slice.dir_.weights.template RunCells<Cell, E>(
        slice.s_, slice.WeightedH(step), order, [&](auto nv, int64_t first_block) {
          rows.first_block = first_block;
          return typename Cell::template Forward<T, decltype(nv)::value>(rows, typed);
        });
  }

  // Writes the final states after all steps are done.
  void Finish() {
    if (!layer_.h_n) return;
    for (int64_t j = j0_; j < j1_; ++j) {
      const int64_t b = seq_.perm[j];
      const bool empty = seq_.length[j] == 0;
      const int64_t last = empty ? 0 : FinalStep(seq_, d_, j);
      T* h_n = layer_.h_n.at(pseudo_layer_, b);
      if (rounds() && !empty) {
        WidenRow(layer_.rounded_y.at(last, j) + y_at_, h_n);
      } else {
        std::memcpy(h_n, empty ? layer_.h0.at(pseudo_layer_, b) : layer_.y.at(last, j) + y_at_,
                    sizeof(T) * s_.hidden);
      }
      if (s_.cell.has_c) {
        const T* c = empty ? layer_.c0.at(pseudo_layer_, b) : RowOfC(last, j);
        std::memcpy(layer_.c_n.at(pseudo_layer_, b), c, sizeof(T) * s_.units);
      }
    }
  }

 private:
  // `at`: the first row of the slice in the ring.
  ForwardSlice(const ForwardLayer<T>& layer, const SlicePlace& place, int64_t at,
               int64_t first_pointer)
      : Base(layer, place, first_pointer + at),
        operand_rows_(dir_.operand_h[0] + place.worker * seq_.batch * layer_.operand_row),
        ring_(dir_.ring + at * s_.gate_row),
        panels_(s_.panels()),
        two_stages_(s_.has_two_stages()),
        block_steps_(std::max<int64_t>(1, kStepBlockRows / std::max<int64_t>(1, j1_ - j0_))) {}

  // Loads the initial states that are updated in place, for the units of panels [panel0, panel1).
  void LoadStates(int64_t panel0, int64_t panel1) {
    if (s_.cell.has_c) LoadRows(layer_.c0, panel0, panel1, dir_.c0);
    if (s_.cell.carries_h && rounds()) LoadRows(layer_.h0, panel0, panel1, dir_.carried);
  }

  // Runs one step for the units of panels [panel0, panel1). Where a step block begins, also runs
  // the input stage of the whole block.
  void Step(int64_t step, int64_t panel0, int64_t panel1) {
    EnterBlock(step);
    if (step == block_begin_) RunInputStage(panel0, panel1);
    PrepareRows(step);
    if (quantizes()) QuantizeRows(p_.h_prev, Alive(TimeOf(step)), s_.hidden);
    layer_.cells.run(*this, layer_.cells.tensors, step, {panel0, panel1, step % 2 != 0});
    const int64_t panel_units = s_.panel_blocks() * kLanes<T>;
    const UnitRange units = {panel0 * panel_units, std::min(s_.units, panel1 * panel_units),
                             s_.units};
    if (!two_stages_) {
      CopyRows(step, units);
    } else if (s_.cell.has_second() && layer_.recurrent_masks) {
      for (int64_t i = 0; i < Alive(TimeOf(step)); ++i) {
        ScaleRow(layer_.recurrent_masks.row(s_.cell.second, seq_.perm[j0_ + i]), units.begin,
                 units.end, p_.out[i]);
      }
    }
  }

  // The second product of a step for its dense panels [panel0, panel1): h = m * W_proj, or the
  // product that the cell completes.
  void SecondProduct(int64_t step, int64_t panel0, int64_t panel1) {
    EnterBlock(step);
    PrepareRows(step);
    const int64_t n = Alive(TimeOf(step));
    if (quantizes()) {
      QuantizeRows(p_.out, n, s_.units);
    } else {
      std::copy(p_.out, p_.out + n, p_.operands);
    }
    dir_.weights.SecondProduct(s_, {p_.operands, n, BatchRowsOf(seq_.batch)}, panel0, panel1, p_.h);
    const UnitRange columns = UnitsOfDensePanels<T>(panel0, panel1, s_.second);
    if (layer_.h_limit < std::numeric_limits<T>::infinity()) {
      for (int64_t i = 0; i < n; ++i) LimitRow(columns, p_.h[i]);
    }
    if (layer_.cells.after_second != nullptr) {
      layer_.cells.after_second(*this, layer_.cells.tensors, step, columns);
    }
    CopyRows(step, columns);
  }

  // Runs a partition of the rows of a step, for a cell that finishes whole rows.
  void FinishWholeRows(int64_t step, const Share& share) {
    EnterBlock(step);
    PrepareRows(step);
    const Range rows = share.Of(Alive(TimeOf(step)));
    layer_.cells.finish_whole_rows(*this, layer_.cells.tensors, rows);
    if (!copies()) return;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      CopyH(j0_ + i, p_.h[i], 0, s_.hidden, OperandH(step + 1, i));
    }
  }

  bool copies() const { return layer_.reads == HiddenOperand::kCopy; }
  bool quantizes() const { return layer_.reads == HiddenOperand::kQuantized; }
  bool rounds() const { return layer_.reads == HiddenOperand::kRoundedY; }

  int64_t TimeOf(int64_t step) const { return d_ == 0 ? step : steps_ - 1 - step; }

  // The row of c of a step; t < 0: before the first step.
  T* RowOfC(int64_t t, int64_t j) const {
    return t < 0 || dir_.c == nullptr ? dir_.c0 + j * s_.padded
                                      : dir_.c + (seq_.start[t] + j) * layer_.c_row;
  }

  void LoadRows(const StateRows<const T>& states, int64_t panel0, int64_t panel1, T* rows) const {
    const int64_t unit0 = panel0 * kLanes<T>;
    const int64_t unit1 = std::min(s_.units, panel1 * kLanes<T>);
    for (int64_t j = j0_; j < j1_; ++j) {
      const T* state = states.at(pseudo_layer_, seq_.perm[j]);
      T* row = rows + j * s_.padded;
      std::copy(state + unit0, state + unit1, row + unit0);
      std::fill(row + unit1, row + panel1 * kLanes<T>, T(0));
    }
  }

  void WidenRow(const BFloat16Bits* row, T* out) const {
    if constexpr (kHasPairs<T>) {
      for (int64_t k = 0; k < s_.hidden; k += kLanes<T>) {
        StoreFirst(out + k, LoadWide<T>(row + k, s_.hidden - k), s_.hidden - k);
      }
    }
  }

  // The copy of h that the product of a step reads for row j0 + i. The copy of the next step is a
  // separate buffer, because it is written at the same time.
  char* OperandH(int64_t step, int64_t i) const {
    char* const rows = quantizes() ? operand_rows_ : dir_.operand_h[step % 2];
    return rows + (j0_ + i) * layer_.operand_row;
  }

  void LimitRow(const UnitRange& columns, T* h) const {
    for (int64_t k = columns.begin; k < columns.end; k += kLanes<T>) {
      const int64_t n = columns.end - k;
      StoreFirst(h + k, Limit<T>(LoadFirst(h + k, n), layer_.h_limit), n);
    }
  }

  // Writes the rows that the product of the next step reads, if it does not read h itself.
  void CopyRows(int64_t step, const UnitRange& units) const {
    if (rounds()) return RoundRows(step, units);
    if (!copies()) return;
    for (int64_t i = 0; i < Alive(TimeOf(step)); ++i) {
      CopyH(j0_ + i, p_.h[i], units.begin, units.end, OperandH(step + 1, i));
    }
  }

  void RoundRows(int64_t step, const UnitRange& units) const {
    if constexpr (kHasPairs<T>) {
      const int64_t t = TimeOf(step);
      for (int64_t i = 0; i < Alive(t); ++i) {
        RoundRow(p_.h[i], units.begin, units.end, layer_.rounded_y.at(t, j0_ + i) + y_at_);
      }
    }
  }

  // Makes the first n rows the operands of the next product.
  void QuantizeRows(const T* const* rows, int64_t n, int64_t width) const {
    for (int64_t i = 0; i < n; ++i) {
      char* const out = OperandH(0, i);
      CopyRow(s_.operands, GateMasks<T>(), s_.cell.recurrent, 0, rows[i], 0, width, out);
      p_.operands[i] = out;
    }
  }

  // Copies elements [begin, end) of a row of h. `begin` is a multiple of V.
  void CopyH(int64_t j, const T* h, int64_t begin, int64_t end, char* out) const {
    CopyRow(s_.operands, layer_.recurrent_masks, s_.cell.recurrent, seq_.perm[j], h, begin, end,
            out);
  }

  // Prepares the step block of a step, unless it is there. A division at each step is avoided.
  void EnterBlock(int64_t step) {
    if (step < block_begin_ || step >= block_end_) PrepareStepBlock(step / block_steps_);
  }

  void PrepareStepBlock(int64_t block) {
    block_begin_ = block * block_steps_;
    block_end_ = std::min(steps_, block_begin_ + block_steps_);
    block_rows_ = 0;
    for (int64_t step = block_begin_; step < block_end_; ++step) {
      const int64_t t = TimeOf(step);
      for (int64_t j = j0_; j < j0_ + Alive(t); ++j, ++block_rows_) {
        p_.x[block_rows_] = layer_.operand_x.at(t, j);
        p_.gates[block_rows_] = dir_.gates != nullptr
                                    ? dir_.gates + (seq_.start[t] + j) * s_.gate_row
                                    : ring_ + block_rows_ * s_.gate_row;
      }
    }
  }

  // Finds the row of the step block where the gates of the step begin: behind the steps visited
  // before.
  void FindGateRow(int64_t step) {
    if (gate_step_ < block_begin_ || gate_step_ > step) gate_step_ = block_begin_, gate_row_ = 0;
    for (; gate_step_ < step; ++gate_step_) gate_row_ += Alive(TimeOf(gate_step_));
  }

  // Sets the rows that the cell reads and writes at a step, and in p_.operands the rows of its
  // product.
  void PrepareRows(int64_t step) {
    FindGateRow(step);
    const int64_t t = TimeOf(step);
    const int64_t n = Alive(t);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = j0_ + i;
      const int64_t before = PreviousStep(seq_, d_, t, j);
      if (s_.cell.has_c) {
        p_.c_prev[i] = RowOfC(before, j);
        p_.c[i] = RowOfC(t, j);
      }
      if (rounds()) {
        p_.h_prev[i] = p_.h[i] = dir_.carried + j * s_.padded;
        p_.operands[i] = OperandH(0, i);
        if (before >= 0) p_.operands[i] = layer_.rounded_y.at(before, j) + y_at_;
        continue;
      }
      p_.h_prev[i] =
          before < 0 ? layer_.h0.at(pseudo_layer_, seq_.perm[j]) : layer_.y.at(before, j) + y_at_;
      p_.h[i] = layer_.y.at(t, j) + y_at_;
      if (s_.second > 0) p_.out[i] = dir_.carried + j * s_.padded;
      p_.operands[i] = p_.h_prev[i];
      if (copies()) p_.operands[i] = OperandH(step, i);
    }
  }

  // The rows that the recurrent weights multiply at a step.
  WeightedRows WeightedH(int64_t step) const {
    return {p_.operands, Alive(TimeOf(step)), BatchRowsOf(seq_.batch),
            static_cast<bool>(layer_.recurrent_masks)};
  }

  StepRows<T> RowsOf(int64_t step) const {
    return {p_.h_prev,
            p_.gates + gate_row_,
            p_.c_prev,
            p_.c,
            p_.out,
            /*first_row=*/seq_.start[TimeOf(step)] + j0_,
            s_.units,
            /*first_block=*/0,
            dir_.weights.packed.split_bias};
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

  char* const operand_rows_;  // this thread's quantized rows
  T* const ring_;
  const int64_t panels_;
  const bool two_stages_;
  const int64_t block_steps_;
  int64_t block_begin_ = 0, block_end_ = 0;  // the steps of the block
  int64_t block_rows_ = 0;
  int64_t gate_step_ = -1;
  int64_t gate_row_ = 0;
};

// The rows that the recurrent product of a layer reads.
template <typename T>
HiddenOperand ReadsOf(const ForwardLayer<T>& layer) {
  if (layer.rounded_y) return HiddenOperand::kRoundedY;
  switch (layer.sizes.operands) {
    case OperandType::kQuads:
      return HiddenOperand::kQuantized;
    case OperandType::kPairs:
      return HiddenOperand::kCopy;
    default:
      return layer.recurrent_masks ? HiddenOperand::kCopy : HiddenOperand::kH;
  }
}

// The runner of a cell on operands of a type. `tensors` must live longer than the runner.
template <typename Cell, typename T>
CellRunner<T> CellRunnerOf(OperandType operands,
                           const typename Cell::template Tensors<T>* tensors) {
  using Slice = ForwardSlice<T>;
  constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
  CellRunner<T> runner;
  runner.tensors = tensors;
  if constexpr (kFormat.whole_rows) {
    runner.run = &Slice::ProductOfWholeRows;
    runner.finish_whole_rows = &Slice::template CellsOfWholeRows<Cell>;
  } else {
    WithOperand<T>(operands, [&](auto e) {
      using E = decltype(e);
      // Rare modes have kernels for exact operands only.
      constexpr bool kRuns = std::is_same_v<E, Pair>   ? kFormat.pairs
                             : std::is_same_v<E, Quad> ? kFormat.quads
                                                       : true;
      if constexpr (kRuns) runner.run = &Slice::template RunCells<Cell, E>;
    });
    if constexpr (kFormat.has_second()) {
      runner.after_second = &Slice::template CellsAfterSecond<Cell>;
    }
  }
  return runner;
}

// Runs the time loops of all directions of a layer.
template <typename T>
void RunForwardRecurrence(const ForwardLayer<T>& layer, const Split& split,
                          const ParallelFor& parallel) {
  const Sequence& seq = *layer.seq;
  const int64_t ring_rows = RingRows(split, seq.batch, seq.rows);
  RunSlices(seq, layer.sizes.num_dirs, split, parallel,
            [&](const SlicePlace& place) { return ForwardSlice<T>(layer, place, ring_rows); });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_FORWARD_SLICE_H_
