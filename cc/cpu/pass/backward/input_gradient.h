// The product over all rows that computes dx.
#pragma once

#include <cstdint>

#include "cc/cpu/heuristics.h"
#include "cc/cpu/pass/backward/gate_products.h"
#include "cc/cpu/pass/backward/layer.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The rows and dense panels of dx that one item of work computes.
struct InputGradientItem {
  int64_t row0, row1;
  int64_t panel0, panel1;
};

// dx if x was added to every gate (skip_input).
template <typename T>
void SkippedInputGradient(const Sizes<T>& s, const void* const* dgates, bool accumulate,
                          int64_t rows, T* const* dx) {
  constexpr int V = kLanes<T>;
  for (int64_t i = 0; i < rows; ++i) {
    const T* const row = static_cast<const T*>(dgates[i]);
    for (int64_t u = 0; u < s.blocks; ++u) {
      const int64_t valid = s.units - u * V;
      const T* g = row + (u * s.cell.buffer + s.cell.input_at) * V;
      Packet<T> sum = accumulate ? LoadFirst(dx[i] + u * V, valid) : Set<T>(T(0));
      for (int v = 0; v < s.cell.input.count; ++v) sum = padd(sum, Load(g + v * V));
      StoreFirst(dx[i] + u * V, sum, valid);
    }
  }
}

// The product of InputGradient with a separate mask of x for each gate.
template <typename T>
void MaskedInputGradient(const BackwardLayer<T>& layer, const RowGemm<T>& g,
                         const InputGradientItem& item) {
  const T* scale[kMostRowsOfItem];
  int64_t batch_of[kMostRowsOfItem];
  ForPackedRows(*layer.seq, item.row0, item.row1, [&](int64_t row, int64_t, int64_t j) {
    batch_of[row - item.row0] = layer.seq->perm[j];
  });
  MaskedGateProduct(layer.sizes, /*recurrent=*/false, g, item.panel0, item.panel1, scale,
                    [&](int gate, int64_t i) { return layer.input_masks.row(gate, batch_of[i]); });
}

// dx of some packed rows and dense panels: the sum over directions of dgates * W^T.
template <typename T>
void InputGradient(const BackwardLayer<T>& layer, const InputGradientItem& item) {
  const Sizes<T>& s = layer.sizes;
  const int64_t row0 = item.row0;
  const int64_t n = item.row1 - row0;
  T* dx[kMostRowsOfItem];
  const void* dgates[kMostRowsOfItem];
  ForPackedRows(*layer.seq, row0, item.row1,
                [&](int64_t row, int64_t t, int64_t j) { dx[row - row0] = layer.dx.at(t, j); });
  for (int d = 0; d < s.num_dirs; ++d) {
    for (int64_t i = 0; i < n; ++i) dgates[i] = layer.DGates(d, row0 + i);
    if (layer.skip_input) {
      SkippedInputGradient(s, dgates, d > 0, n, dx);
      continue;
    }
    const RunsOfK k = GateRuns(s, /*recurrent=*/false);
    RowGemm<T> g = {dgates, dx, n, k, layer.dirs[d].input, layer.in};
    g.start = d == 0 ? Start::kZero : Start::kAccumulate;
    g.operands = s.operands;
    if (layer.input_masks) {
      MaskedInputGradient(layer, g, item);
    } else {
      GemmDense(g, item.panel0, item.panel1);
    }
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
