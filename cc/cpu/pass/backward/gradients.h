// The products over all rows of a backward pass: dx and the gradients of the weights.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/cpu/heuristics.h"
#include "cc/cpu/pass/backward/layer.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/product/transposed.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The product over all rows that computes dx.

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

// Gradients of weights and biases: reductions over all packed rows, one panel of columns at a time.
//
// Note [Deterministic reductions]
// One thread reduces a panel over blocks of kReductionRows rows in order. The order does not depend
// on the number of threads and on the other panels of the item, so sums are bit-identical.

// The prefetch distance for a column of panels: the hardware prefetcher does not follow its stride.
constexpr int64_t kPrefetchRows = 12;

// The number of adjacent panels reduced together, so that the factors are read once for all of
// them.
constexpr int kReductionPanels = kVectorRegisters == 32 ? 4 : 8;

// Panels that are adjacent in the rows of the gradient.
struct ReductionPanels {
  int64_t at;   // column of the gradient where the first panel begins
  int count;    // at most kReductionPanels; above 1 only if all panels have the same width
  int vectors;  // in each panel, at most 4
};

// One factor of the reduction. The columns of its rows are multiplied by some vectors of each
// panel.
template <typename T>
struct ReductionFactor {
  int64_t columns;   // columns of the factor; 0: no factor
  int first_vector;  // index in the panel
  int vectors;
  T* result;              // [columns][vectors * V] of the first panel
  int64_t result_stride;  // from one panel to the next
  bool gated;             // the factor's rows are interleaved, see Note [Gate masks]
};

// The number of rows of a block in operands, for a reduction over `rows` rows.
inline int64_t ReductionBlock(OperandType type, int64_t rows) {
  return CeilDiv(std::min(kReductionRows, rows), PerOperand(type));
}

// The number of operands to which ReducePanels copies a block of one panel.
template <typename T>
int64_t ReductionSpace(OperandType type, int64_t rows) {
  return ReductionBlock(type, rows) * 4 * kLanes<T>;
}

template <typename T>
void AddSums(const ReductionPanels& panels, const Packet<T> (&sum)[kReductionPanels][4], T* bias) {
  for (int q = 0; q < panels.count; ++q) {
    for (int v = 0; v < panels.vectors; ++v, bias += kLanes<T>) {
      Store(bias, padd(Load(bias), sum[q][v]));
    }
  }
}

// Rows [row0, row0 + n) of the gradient. The rows of each panel are copied to `space`, where they
// are the B of a product.
template <typename T, typename E>
struct GradientBlock {
  const E* gradient;  // [R, ld] values of T
  int64_t ld;
  int64_t all_rows;  // R
  int64_t row0;
  int64_t n;
  E* space;
  int64_t panel_size;  // operands of one panel in `space`
};

// Copies the rows of a block, and adds them to `sum`.
template <typename T>
void CopyGradient(const GradientBlock<T, T>& g, const ReductionPanels& panels,
                  Packet<T> (&sum)[kReductionPanels][4]) {
  constexpr int V = kLanes<T>;
  for (int64_t k = 0; k < g.n; ++k) {
    const int64_t row = g.row0 + k;
    const T* ahead = g.gradient + std::min(row + kPrefetchRows, g.all_rows - 1) * g.ld + panels.at;
    const T* from = g.gradient + row * g.ld + panels.at;
    for (int q = 0; q < panels.count;
         ++q, from += panels.vectors * V, ahead += panels.vectors * V) {
      T* to = g.space + q * g.panel_size + k * panels.vectors * V;
      for (int v = 0; v < panels.vectors; ++v) {
        __builtin_prefetch(ahead + v * V);
        const Packet<T> value = Load(from + v * V);
        Store(to + v * V, value);
        sum[q][v] = padd(sum[q][v], value);
      }
    }
  }
}

#if defined(RNN_OPS_ISA_AVX512)

// Two rows are one row of pairs. A last row without partner is paired with zeros.
inline void CopyGradient(const GradientBlock<float, Pair>& g, const ReductionPanels& panels,
                         Packet<float> (&sum)[kReductionPanels][4]) {
  constexpr int V = kLanes<float>;
  const auto* elements = reinterpret_cast<const BFloat16Bits*>(g.gradient);
  auto wide = [](const __m256i& v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
  };
  for (int64_t k = 0; k < g.n; k += 2) {
    const int64_t row = g.row0 + k;
    const BFloat16Bits* from = elements + row * g.ld + panels.at;
    const BFloat16Bits* ahead =
        elements + std::min(row + kPrefetchRows, g.all_rows - 1) * g.ld + panels.at;
    for (int q = 0; q < panels.count;
         ++q, from += panels.vectors * V, ahead += panels.vectors * V) {
      for (int v = 0; v < panels.vectors; v += 2) {
        __builtin_prefetch(ahead + v * V);
        __builtin_prefetch(ahead + g.ld + v * V);
      }
      Pair* to = g.space + q * g.panel_size + k / 2 * panels.vectors * V;
      for (int v = 0; v < panels.vectors; ++v) {
        const __m256i first = LoadBits(from + v * V);
        const __m256i second = k + 1 < g.n ? LoadBits(from + g.ld + v * V) : _mm256_setzero_si256();
        _mm512_storeu_si512(to + v * V, Interleave(first, second));
        sum[q][v] = padd(sum[q][v], padd(Packet<float>(wide(first)), Packet<float>(wide(second))));
      }
    }
  }
}

#endif

// For panels of rows [R, ld] of `gradient`, computes result[k] = sum over rows of row_k * gradient
// for all factors. Also computes the sums of the gradient, to `bias` [count][vectors * V] (may be
// null). `rows_of(row, t, j, factor)` returns the factor's row. With pairs, `row` is the index of a
// row of PairRows, and t and j are 0. `space` has ReductionSpace() operands for each panel.
template <typename T, typename E, int kFactors, typename RowsOf>
void ReducePanels(const Sequence& seq, const E* gradient, int64_t ld, const ReductionPanels& panels,
                  const ReductionFactor<T> (&factors)[kFactors], T* bias, E* space,
                  RowsOf&& rows_of) {
  constexpr int V = kLanes<T>;
  constexpr int kPer = kPerOperand<E>;
  const OperandType type = kIsGroup<E> ? OperandType::kPairs : OperandType::kExact;
  const int64_t panel_size = ReductionBlock(type, seq.rows) * panels.vectors * V;
  const E* rows[kFactors][kReductionRows / kPer];
  if (bias != nullptr) std::fill(bias, bias + panels.count * panels.vectors * V, T(0));
  const int64_t blocks = std::max<int64_t>(1, CeilDiv(seq.rows, kReductionRows));
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t row0 = i * kReductionRows;
    const int64_t n = std::min(kReductionRows, seq.rows - row0);
    Packet<T> sum[kReductionPanels][4];
    for (auto& panel : sum) {
      for (auto& s : panel) s = Set<T>(T(0));
    }
    CopyGradient(GradientBlock<T, E>{gradient, ld, seq.rows, row0, n, space, panel_size}, panels,
                 sum);
    auto add_row = [&](int64_t row, int64_t t, int64_t j) {
      for (int f = 0; f < kFactors; ++f) {
        if (factors[f].columns > 0) rows[f][row - row0 / kPer] = rows_of(row, t, j, f);
      }
    };
    if constexpr (kPer == 1) {
      ForPackedRows(seq, row0, row0 + n, add_row);
    } else {
      for (int64_t k = 0; k < CeilDiv(n, kPer); ++k) add_row(row0 / kPer + k, 0, 0);
    }
    for (int f = 0; f < kFactors; ++f) {
      const ReductionFactor<T>& factor = factors[f];
      if (factor.columns == 0) continue;
      GemmTransposedVectors<T, E>(
          factor.vectors, factor.gated,
          {rows[f], CeilDiv(n, kPer), factor.columns, panels.count, space + factor.first_vector * V,
           panel_size, panels.vectors * V, factor.result, factor.result_stride,
           /*accumulate=*/i > 0});
    }
    if (bias != nullptr) AddSums(panels, sum, bias);
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
