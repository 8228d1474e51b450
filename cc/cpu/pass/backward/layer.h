// One layer of a backward pass: its data, and the products of the gradients of its gates.
#pragma once

#include <cstdint>
#include <limits>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/rows/masks.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The data of one layer for the time loop of a backward pass.

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

// Products over rows of the gradients of the gates, for dx and for dh.

// The K of a product over rows of dgates: whole rows, or some vectors of each unit block.
template <typename T>
RunsOfK GateRuns(const Sizes<T>& s, bool recurrent) {
  const int64_t V = s.depth(kLanes<T>);
  const int vectors = recurrent ? s.cell.recurrent.count : s.cell.input.count;
  if (vectors == s.cell.buffer) return RunsOfK::Dense(s.depth(s.gate_part));
  const int at = recurrent ? s.cell.recurrent_at : s.cell.input_at;
  return RunsOfK::Pieces(vectors * V, s.blocks, at * V, s.cell.buffer * V);
}

// C (+)= sum over gates of mask * (dgates * W^T), for panels [panel0, panel1) of the dense product
// `g` whose K is not set. scale_of(gate, i) returns the mask of row i of C. `scale` has space for
// g.rows pointers.
template <typename T, typename ScaleOf>
void MaskedGateProduct(const Sizes<T>& s, bool recurrent, RowGemm<T> g, int64_t panel0,
                       int64_t panel1, const T** scale, ScaleOf&& scale_of) {
  constexpr int V = kLanes<T>;
  const GateOrder& order = recurrent ? s.cell.recurrent : s.cell.input;
  const int at = recurrent ? s.cell.recurrent_at : s.cell.input_at;
  g.scale = scale;
  for (int v = 0; v < order.count; ++v) {
    for (int64_t i = 0; i < g.rows; ++i) scale[i] = scale_of(order.source[v], i);
    if (order.count == 1) {
      g.k = RunsOfK::Dense(s.gate_part);
    } else {
      g.k = {V,     s.blocks,        (at + v) * V,          s.cell.buffer * V,
             v * V, order.count * V, s.padded * order.count};
    }
    GemmDense(g, panel0, panel1);
    g.start = Start::kAccumulate;
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
