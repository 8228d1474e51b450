// The data of one layer for the time loop of a forward pass, and its rows at a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cc/cpu/pass/forward/weights.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/slice.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/rows/masks.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The rows that the recurrent product reads.
enum class HiddenOperand {
  kH,          // h: rows of y or of h0
  kMasked,     // a copy of h for each gate (Note [Operand rows]), made after the step
  kQuantized,  // a copy of h, made by each thread before the product, since it needs the whole row
  kRounded,    // h rounded by the step that computes it: a copy, or rows of y in bfloat16
};

// One direction of one layer.
template <typename T>
struct ForwardDirection {
  ForwardWeights<T> weights;
  T* gates = nullptr;  // [R, gate_row] if all rows are kept
  T* ring = nullptr;   // otherwise: rows of the step blocks of all slices
  T* c = nullptr;      // [R, c_row] if all rows are kept
  T* c0 = nullptr;     // [B, padded] the initial c; updated in place if c is not kept
  // [B, padded]: the input m of a second product. With rounded_y: h before rounding.
  T* carried = nullptr;
  // Copies of h: [B, operand_row] for even and odd steps. Quantized rows: only operand_h[0], with
  // rows of its own for each thread.
  char* operand_h[2] = {};
};

// The row pointers of one slice.
template <typename T>
struct ForwardPointers {
  // For a step block:
  const void** x;  // operands
  T** gates;
  // For one step:
  const T** h_prev;
  const T** c_prev;
  T** c;
  T** h;
  T** out;                 // m if a second product follows, otherwise the array h
  const void** operands;   // rows that the recurrent or the second weights multiply
  T** sums;                // results of that product, if no cell receives them
  BFloat16Bits** rounded;  // with kRounded: h for the next step

  template <typename F>
  void ForEach(F&& fn) {
    fn(x), fn(gates), fn(h_prev), fn(c_prev), fn(c), fn(h), fn(out), fn(operands), fn(sums);
    fn(rounded);
  }
};

template <typename T>
class ForwardRows;

// The functions that run a cell in one step, for a range of panels, units or rows. They are chosen
// once for a layer, so that the time loop is compiled only once for all cells.
template <typename T>
struct CellRunner {
  using Rows = ForwardRows<T>;
  void (*run)(const Rows& rows, const void* tensors, int64_t step,
              const PanelOrder& order) = nullptr;
  // For cells with a second product: runs after the second product.
  void (*after_second)(const Rows& rows, const void* tensors, int64_t step,
                       const UnitRange& units) = nullptr;
  // For cells of whole rows: runs after both products.
  void (*finish_whole_rows)(const Rows& rows, const void* tensors, const Range& range) = nullptr;
  const void* tensors = nullptr;  // the cell's Tensors
};

template <typename T>
struct ForwardLayer {
  const Sequence* seq = nullptr;
  Sizes<T> sizes = {};
  int64_t in = 0;       // columns of x
  bool adds_x = false;  // skip_input: the gates read x itself instead of a product
  GateMasks<T> input_masks;
  GateMasks<T> recurrent_masks;
  T h_limit = std::numeric_limits<T>::infinity();  // see HiddenLimit
  int64_t operand_row = 0;                         // bytes in a row of operand_h
  int64_t c_row = 0;                               // elements in a row of c
  OperandRows operand_x;                           // rows that the input product reads
  RowMap<const T> x;
  RowMap<T> y;                     // rows of [D, S]
  RowMap<BFloat16Bits> rounded_y;  // instead of y, if rows of h are pairs
  StateRows<const T> h0, c0;
  StateRows<T> h_n, c_n;
  int64_t first_pseudo_layer = 0;
  HiddenOperand reads = HiddenOperand::kH;
  CellRunner<T> cells;
  ForwardDirection<T> dirs[2] = {};
  ForwardPointers<T> pointers[2] = {};
};

// The rows that the recurrent product of a layer reads.
template <typename T>
HiddenOperand ReadsOf(const ForwardLayer<T>& layer) {
  switch (layer.sizes.operands) {
    case OperandType::kQuads:
      return HiddenOperand::kQuantized;
    case OperandType::kPairs:
      return HiddenOperand::kRounded;
    default:
      return layer.recurrent_masks ? HiddenOperand::kMasked : HiddenOperand::kH;
  }
}

constexpr int64_t kStepBlockRows = 256;

// The rows of the ring of one direction, and of its pointers for each thread. `rows`: R.
inline int64_t RingRows(const Split& split, int64_t batch, int64_t rows) {
  const int64_t of_blocks = split.slices * kStepBlockRows + batch;
  return split.slices == 1 ? std::min(of_blocks, rows) : of_blocks;
}

// A slice of one direction with its rows.
template <typename T>
class ForwardRows : public Slice<T, ForwardLayer<T>> {
  using Base = Slice<T, ForwardLayer<T>>;

 public:
  // `ring_rows`: RingRows().
  ForwardRows(const ForwardLayer<T>& layer, const SliceRange& range, int64_t ring_rows)
      : ForwardRows(layer, range, range.number * kStepBlockRows + range.j0,
                    range.worker * ring_rows) {}

  // Copies h0 for the first step of each sequence, if the products read copies.
  void Begin() const {
    if (!masks() && !rounds()) return;
    for (int64_t j = j0_; j < j1_; ++j) {
      const T* h0 = layer_.h0.at(pseudo_layer_, seq_.perm[j]);
      for (int64_t parity = 0; parity < 2; ++parity) {
        CopyH(j, h0, 0, s_.hidden, OperandH(parity, j - j0_));
      }
    }
  }

  // Writes the final states after all steps are done.
  void Finish() {
    if (!layer_.h_n) return;
    for (int64_t j = j0_; j < j1_; ++j) {
      const int64_t b = seq_.perm[j];
      const bool empty = seq_.length[j] == 0;
      const int64_t last = empty ? 0 : FinalStep(seq_, d_, j);
      T* h_n = layer_.h_n.at(pseudo_layer_, b);
      if (rounds_y() && !empty) {
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

  const Sizes<T>& sizes() const { return s_; }
  const ForwardWeights<T>& weights() const { return dir_.weights; }
  const ForwardPointers<T>& pointers() const { return p_; }
  int64_t AliveAt(int64_t step) const { return Alive(TimeOf(step)); }
  // The gates of row i of the step that PrepareRows has prepared.
  T* gates(int64_t i) const { return p_.gates[gate_row_ + i]; }

  // The rows that the recurrent weights multiply at a step.
  WeightedRows WeightedH(int64_t step) const {
    return {p_.operands, AliveAt(step), BatchRowsOf(seq_.batch),
            /*gated=*/static_cast<bool>(layer_.recurrent_masks)};
  }

  StepRows<T> RowsOf(int64_t step) const {
    StepRows<T> rows;
    rows.h_prev = p_.h_prev;
    rows.gates = p_.gates + gate_row_;
    rows.c_prev = p_.c_prev;
    rows.c = p_.c;
    rows.out = p_.out;
    rows.first_row = seq_.start[TimeOf(step)] + j0_;
    rows.units = s_.units;
    rows.first_block = 0;
    rows.split_bias = dir_.weights.packed.split_bias;
    rows.rounded = rounds() || rounds_y() ? p_.rounded : nullptr;
    return rows;
  }

 protected:
  using Base::Alive, Base::layer_, Base::seq_, Base::s_, Base::dir_, Base::d_, Base::p_;
  using Base::j0_, Base::j1_, Base::pseudo_layer_, Base::steps_, Base::y_at_;

  bool masks() const { return layer_.reads == HiddenOperand::kMasked; }
  bool quantizes() const { return layer_.reads == HiddenOperand::kQuantized; }
  bool rounds() const { return layer_.reads == HiddenOperand::kRounded; }
  bool rounds_y() const { return static_cast<bool>(layer_.rounded_y); }

  // Loads the initial states that are updated in place, for the units of panels [panel0, panel1).
  void LoadStates(int64_t panel0, int64_t panel1) {
    if (s_.cell.has_c) LoadRows(layer_.c0, panel0, panel1, dir_.c0);
    if (s_.cell.carries_h && rounds_y()) LoadRows(layer_.h0, panel0, panel1, dir_.carried);
  }

  // Prepares the step block of a step, unless it is there. A division at each step is avoided.
  void EnterBlock(int64_t step) {
    if (step < block_begin_ || step >= block_end_) PrepareStepBlock(step / block_steps_);
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
      if (rounds_y()) {
        // Only h that the cell carries needs a row of its own.
        p_.h_prev[i] = p_.h[i] = dir_.carried + (s_.cell.carries_h ? j : j0_) * s_.padded;
        p_.operands[i] = OperandH(0, i);
        if (before >= 0) p_.operands[i] = layer_.rounded_y.at(before, j) + y_at_;
        p_.rounded[i] = layer_.rounded_y.at(t, j) + y_at_;
        continue;
      }
      p_.h_prev[i] =
          before < 0 ? layer_.h0.at(pseudo_layer_, seq_.perm[j]) : layer_.y.at(before, j) + y_at_;
      p_.h[i] = layer_.y.at(t, j) + y_at_;
      if (s_.has_second_product()) p_.out[i] = dir_.carried + j * s_.padded;
      p_.operands[i] = p_.h_prev[i];
      if (masks() || rounds()) p_.operands[i] = OperandH(step, i);
      if (rounds()) p_.rounded[i] = reinterpret_cast<BFloat16Bits*>(OperandH(step + 1, i));
    }
  }

  // Writes the masked rows that the product of the next step reads.
  void CopyRows(int64_t step, const UnitRange& units) const {
    if (!masks()) return;
    for (int64_t i = 0; i < Alive(TimeOf(step)); ++i) {
      CopyH(j0_ + i, p_.h[i], units.begin, units.end, OperandH(step + 1, i));
    }
  }

  // Writes elements [begin, end) of the copy of a row of h. `begin` is a multiple of V.
  void CopyH(int64_t j, const T* h, int64_t begin, int64_t end, char* out) const {
    CopyRow(s_.operands, layer_.recurrent_masks, s_.cell.recurrent, seq_.perm[j], h, begin, end,
            out);
  }

  // Makes the first n rows the operands of the next product.
  void QuantizeRows(const T* const* rows, int64_t n, int64_t width) const {
    for (int64_t i = 0; i < n; ++i) {
      char* const out = OperandH(0, i);
      CopyRow(s_.operands, GateMasks<T>(), s_.cell.recurrent, 0, rows[i], 0, width, out);
      p_.operands[i] = out;
    }
  }

  // The copy of h that the product of a step reads for row j0 + i. The copy of the next step is a
  // separate buffer, because it is written at the same time.
  char* OperandH(int64_t step, int64_t i) const {
    char* const rows = quantizes() ? operand_rows_ : dir_.operand_h[step % 2];
    return rows + (j0_ + i) * layer_.operand_row;
  }

  int64_t block_begin_ = 0, block_end_ = 0;  // the steps of the block
  int64_t block_rows_ = 0;

 private:
  // `at`: the first row of the slice in the ring.
  ForwardRows(const ForwardLayer<T>& layer, const SliceRange& range, int64_t at,
              int64_t first_pointer)
      : Base(layer, range, first_pointer + at),
        operand_rows_(dir_.operand_h[0] + range.worker * seq_.batch * layer_.operand_row),
        ring_(dir_.ring + at * s_.gate_row),
        block_steps_(std::max<int64_t>(1, kStepBlockRows / std::max<int64_t>(1, j1_ - j0_))) {}

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
    if (gate_step_ < block_begin_ || gate_step_ > step) {
      gate_step_ = block_begin_;
      gate_row_ = 0;
    }
    for (; gate_step_ < step; ++gate_step_) gate_row_ += Alive(TimeOf(gate_step_));
  }

  char* const operand_rows_;  // this thread's quantized rows
  T* const ring_;
  const int64_t block_steps_;
  int64_t gate_step_ = -1;
  int64_t gate_row_ = 0;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
