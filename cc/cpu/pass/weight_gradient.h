// Gradients of weights and biases: reductions over all packed rows, one panel of columns at a time.
//
// Note [Deterministic reductions]
// A panel is always reduced by one thread over blocks of kReductionRows rows in order, whatever the
// number of threads and the panels it goes with, so sums are the same to the bit.
#ifndef TF_RNN_OPS_CC_CPU_PASS_WEIGHT_GRADIENT_H_
#define TF_RNN_OPS_CC_CPU_PASS_WEIGHT_GRADIENT_H_

#include <algorithm>
#include <cstdint>

#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

// A column of panels is read at a stride that the hardware does not foresee.
constexpr int64_t kPrefetchRows = 12;

// Neighbouring panels reduced together, so that the factors are read once for all of them.
constexpr int kReductionPanels = kVectorRegisters == 32 ? 4 : 8;

// Panels lie side by side in the gradient's rows, four vectors apart.
struct ReductionPanels {
  int64_t at;   // column of the gradient where the first one begins
  int count;    // at most kReductionPanels; more than one only where each spans four vectors
  int vectors;  // of each
};

// One factor of the reduction: rows whose columns meet some of each panel's vectors.
template <typename T>
struct ReductionFactor {
  int64_t columns;   // of the factor; 0: none
  int first_vector;  // of the panel
  int vectors;
  T* result;              // [columns][vectors * V] of the first panel
  int64_t result_stride;  // from one panel to the next
  bool gated;             // the factor's rows are interleaved, see Note [Gate masks]
};

// Rows of a block in operands E, for a reduction over `rows` rows.
template <typename T, typename E>
int64_t ReductionBlock(int64_t rows) {
  return CeilDiv(std::min(kReductionRows, rows), kPerOperand<E>);
}

// Operands that ReducePanels copies a block of one panel to.
template <typename T, typename E>
int64_t ReductionSpace(int64_t rows) {
  return ReductionBlock<T, E>(rows) * 4 * kLanes<T>;
}

template <typename T>
void AddSums(const ReductionPanels& panels, const Packet<T> (&sum)[kReductionPanels][4], T* bias) {
  for (int q = 0; q < panels.count; ++q) {
    for (int v = 0; v < panels.vectors; ++v, bias += kLanes<T>) {
      Store(bias, padd(Load(bias), sum[q][v]));
    }
  }
}

// For panels of rows [R, ld] of `gradient`, computes result[k] = sum over rows of row_k * gradient
// for both factors, and the sums of the gradient itself in `bias` [count][vectors * V] (may be
// null). `rows_of(row, t, j, factor)` gives the factor's row. `space` has ReductionSpace() for each
// panel.
template <typename T, typename RowsOf>
void ReducePanels(const Sequence& seq, const T* gradient, int64_t ld, const ReductionPanels& panels,
                  const ReductionFactor<T> (&factors)[2], T* bias, T* space, RowsOf&& rows_of) {
  constexpr int V = kLanes<T>;
  constexpr int64_t kPanelColumns = 4 * V;
  const int vectors = panels.vectors;
  const int64_t block_size = ReductionBlock<T, T>(seq.rows) * vectors * V;
  const T* rows[2][kReductionRows];
  if (bias != nullptr) std::fill(bias, bias + panels.count * vectors * V, T(0));
  const int64_t blocks = std::max<int64_t>(1, CeilDiv(seq.rows, kReductionRows));
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t row0 = i * kReductionRows;
    const int64_t n = std::min(kReductionRows, seq.rows - row0);
    Packet<T> sum[kReductionPanels][4];
    for (auto& panel : sum) {
      for (auto& s : panel) s = Set<T>(T(0));
    }
    ForPackedRows(seq, row0, row0 + n, [&](int64_t row, int64_t t, int64_t j) {
      const int64_t k = row - row0;
      const T* ahead = gradient + std::min(row + kPrefetchRows, seq.rows - 1) * ld + panels.at;
      const T* from = gradient + row * ld + panels.at;
      for (int q = 0; q < panels.count; ++q) {
        T* to = space + q * block_size + k * vectors * V;
        for (int v = 0; v < vectors; ++v) {
          __builtin_prefetch(ahead + q * kPanelColumns + v * V);
          const Packet<T> value = Load(from + q * kPanelColumns + v * V);
          Store(to + v * V, value);
          sum[q][v] = padd(sum[q][v], value);
        }
      }
      for (int f = 0; f < 2; ++f) {
        if (factors[f].columns > 0) rows[f][k] = rows_of(row, t, j, f);
      }
    });
    for (int f = 0; f < 2; ++f) {
      const ReductionFactor<T>& factor = factors[f];
      if (factor.columns == 0) continue;
      GemmTransposedVectors<T, T>(
          factor.vectors, factor.gated,
          {rows[f], n, factor.columns, panels.count, space + factor.first_vector * V, block_size,
           vectors * V, factor.result, factor.result_stride, /*accumulate=*/i > 0});
    }
    if (bias != nullptr) AddSums(panels, sum, bias);
  }
}

#if defined(RNN_OPS_ISA_AVX512)

// The same with gradient rows [R, ld] of bfloat16, where K is pairs of rows: `rows_of(pair,
// factor)` gives a row of PairRows.
template <typename RowsOf>
void ReducePanels(const Sequence& seq, const Pair* gradient, int64_t ld,
                  const ReductionPanels& panels, const ReductionFactor<float> (&factors)[2],
                  float* bias, Pair* space, RowsOf&& rows_of) {
  constexpr int V = kLanes<float>;
  constexpr int64_t kPanelColumns = 4 * V;
  constexpr int64_t kPairs = kReductionRows / 2;
  const int vectors = panels.vectors;
  const int64_t block_size = ReductionBlock<float, Pair>(seq.rows) * vectors * V;
  const Pair* rows[2][kPairs];
  std::fill(bias, bias + panels.count * vectors * V, 0.0f);
  const auto* elements = reinterpret_cast<const uint16_t*>(gradient);
  auto load = [](const uint16_t* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  };
  auto wide = [](const __m256i& v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
  };
  const int64_t blocks = std::max<int64_t>(1, CeilDiv(seq.rows, kReductionRows));
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t row0 = i * kReductionRows;
    const int64_t n = std::min(kReductionRows, seq.rows - row0);
    Packet<float> sum[kReductionPanels][4];
    for (auto& panel : sum) {
      for (auto& s : panel) s = Set(0.0f);
    }
    for (int64_t k = 0; k < n; k += 2) {
      const uint16_t* from = elements + (row0 + k) * ld + panels.at;
      const uint16_t* next =
          elements + std::min(row0 + k + kPrefetchRows, seq.rows - 1) * ld + panels.at;
      for (int q = 0; q < panels.count; ++q, from += kPanelColumns, next += kPanelColumns) {
        for (int v = 0; v < vectors; v += 2) {
          __builtin_prefetch(next + v * V);
          __builtin_prefetch(next + ld + v * V);
        }
        Pair* to = space + q * block_size + k / 2 * vectors * V;
        for (int v = 0; v < vectors; ++v) {
          const __m256i first = load(from + v * V);
          const __m256i second = k + 1 < n ? load(from + ld + v * V) : _mm256_setzero_si256();
          _mm512_storeu_si512(to + v * V, Interleave(first, second));
          sum[q][v] =
              padd(sum[q][v], padd(Packet<float>(wide(first)), Packet<float>(wide(second))));
        }
      }
      for (int f = 0; f < 2; ++f) {
        if (factors[f].columns > 0) rows[f][k / 2] = rows_of((row0 + k) / 2, f);
      }
    }
    for (int f = 0; f < 2; ++f) {
      const ReductionFactor<float>& factor = factors[f];
      if (factor.columns == 0) continue;
      GemmTransposedVectors<float, Pair>(
          factor.vectors, false,
          {rows[f], CeilDiv(n, 2), factor.columns, panels.count, space + factor.first_vector * V,
           block_size, vectors * V, factor.result, factor.result_stride, /*accumulate=*/i > 0});
    }
    AddSums(panels, sum, bias);
  }
}

#endif

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PASS_WEIGHT_GRADIENT_H_
