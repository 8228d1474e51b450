// The data of one layer for the time loop of a backward pass.
#pragma once

#include <cstdint>
#include <limits>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/rows/gate_masks.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/rows/states.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Gradients of the forward panels, in the format of PackedWeights on exact operands.
template <typename T>
struct GradientPanels {
  T* input;
  T* recurrent;
  T* second;  // of the cell's second product; with projection: dense panels of units
};

// One direction of one layer.
template <typename T>
struct BackwardDirection {
  // Weights as dense panels of operands with the gates as K.
  char* input;      // N = in
  char* recurrent;  // N = S
  char* second;     // N = H; K = P with projection, otherwise K = one gate
  GradientPanels<T> gradient;
  char* dgates;  // [R, gate_row] operands
  char*
      reduction;  // ReductionSpace() of each gate panel and piece, then of the projection's panels
  T* dh;          // [B, hidden_padded]
  T* dc;          // LSTM: [B, padded]
  T* c0;          // LSTM: [B, padded]
  T* dm;          // second product: [B, padded], the gradient of its input
  T* dh_total;    // projection: [R, hidden_padded], the whole gradient of h
  T* m;           // second product: [R, padded], its input
  T* norm_sums;   // layer norm: [B, padded * kLayerNormVectors]
  char* operand_h;           // h before each step for the weight gradient, if h itself is not read
  const T* gates = nullptr;  // gates that forward saved
  const T* c = nullptr;
};

template <typename T>
class BackwardSlice;

// The row pointers of one slice for one step.
template <typename T>
struct BackwardPointers {
  const void** dgates;  // operands
  T** dh;
  T** dm;
  const void** total;  // with projection: the whole gradient of h
  const T** masks;     // of one gate, if h has masks

  template <typename F>
  void ForEach(F&& fn) {
    fn(dgates), fn(dh), fn(dm), fn(total), fn(masks);
  }
};

// Like CellRunner, for the gradients of the gates at step t.
template <typename T>
struct GradientRunner {
  void (*run)(const BackwardSlice<T>& slice, const void* tensors, int64_t t,
              const UnitRange& units) = nullptr;
  // For cells with a second product, after dm has been computed.
  void (*after_second)(const BackwardSlice<T>& slice, const void* tensors, int64_t t,
                       const UnitRange& units) = nullptr;
  const void* tensors = nullptr;
};

template <typename T>
struct BackwardLayer {
  const Sequence* seq = nullptr;
  Sizes<T> sizes = {};
  int64_t in = 0;
  bool skip_input = false;
  GateMasks<T> input_masks;
  GateMasks<T> recurrent_masks;
  char* operand_x;  // x for the weight gradient, if x itself is not read
  RowMap<const T> x;
  RowMap<const T> y;
  RowMap<const T> dy;
  RowMap<T> dx;
  StateRows<const T> h0, c0, dh_n, dc_n;
  StateRows<T> dh0, dc0;
  T h_limit = std::numeric_limits<T>::infinity();  // see HiddenLimit
  int64_t first_pseudo_layer = 0;
  int64_t c_row = 0;          // elements in a row of c
  int64_t weight_pieces = 1;  // pieces of the rows of the weight gradients
  GradientRunner<T> cells;
  BackwardDirection<T> dirs[2] = {};
  BackwardPointers<T> pointers[2] = {};

  // The operands of a row of dgates, beginning at its value `at`.
  const char* DGates(int d, int64_t row, int64_t at = 0) const {
    return dirs[d].dgates + sizes.operand_bytes(row * sizes.gate_row + at);
  }
  const T* HBefore(int d, int64_t t, int64_t j) const {
    const int64_t before = PreviousStep(*seq, d, t, j);
    return before < 0 ? h0.at(first_pseudo_layer + d, seq->perm[j])
                      : y.at(before, j) + d * sizes.hidden;
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
