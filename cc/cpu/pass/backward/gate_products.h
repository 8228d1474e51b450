// Products over rows of the gradients of the gates, for dx and for dh.
#pragma once

#include <cstdint>

#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

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
