// Gradients of weights and biases: reductions over all packed rows, one panel of columns at a time.
//
// Note [Deterministic reductions]
// A panel is always reduced by one thread over blocks of kReductionRows rows in order, whatever the
// number of threads, so sums are the same to the bit.
#ifndef TF_RNN_OPS_CC_CPU_WEIGHT_GRADIENT_H_
#define TF_RNN_OPS_CC_CPU_WEIGHT_GRADIENT_H_

#include <algorithm>
#include <cstdint>

#include "cc/cpu/gemm.h"
#include "cc/cpu/operand.h"
#include "cc/cpu/panels.h"
#include "cc/cpu/sequence.h"
#include "cc/cpu/vec.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

constexpr int64_t kReductionRows = 256;
// A column of panels is read at a stride that the hardware does not foresee.
constexpr int64_t kPrefetchRows = 12;

// One factor of the reduction: rows whose columns meet some of the panel's vectors.
template <typename T>
struct ReductionFactor {
  int64_t columns;   // of the factor; 0: none
  int first_vector;  // of the panel
  int vectors;
  T* result;   // [columns][vectors * V]
  bool gated;  // the factor's rows are interleaved, see Note [Gate masks]
};

// For the `vectors` vectors at column `at` of rows [R, ld] of `gradient`, computes
// result[k] = sum over rows of row_k * gradient for both factors, and the sum of the gradient
// itself in `bias` [vectors * V] (may be null). `rows_of(row, t, j, factor)` gives the factor's
// row.
template <typename T, typename RowsOf>
void ReducePanel(const Sequence& seq, const T* gradient, int64_t ld, int64_t at, int vectors,
                 const ReductionFactor<T> (&factors)[2], T* bias, RowsOf&& rows_of) {
  constexpr int V = kLanes<T>;
  alignas(64) T block[kReductionRows * 4 * V];
  const T* rows[2][kReductionRows];
  if (bias != nullptr) std::fill(bias, bias + vectors * V, T(0));
  const int64_t blocks = std::max<int64_t>(1, CeilDiv(seq.rows, kReductionRows));
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t row0 = i * kReductionRows;
    const int64_t n = std::min(kReductionRows, seq.rows - row0);
    Packet<T> sum[4] = {Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0))};
    ForPackedRows(seq, row0, row0 + n, [&](int64_t row, int64_t t, int64_t j) {
      const int64_t k = row - row0;
      const T* ahead = gradient + std::min(row + kPrefetchRows, seq.rows - 1) * ld + at;
      for (int v = 0; v < vectors; ++v) __builtin_prefetch(ahead + v * V);
      for (int v = 0; v < vectors; ++v) {
        const Packet<T> value = Load(gradient + row * ld + at + v * V);
        Store(block + (k * vectors + v) * V, value);
        sum[v] = padd(sum[v], value);
      }
      for (int f = 0; f < 2; ++f) {
        if (factors[f].columns > 0) rows[f][k] = rows_of(row, t, j, f);
      }
    });
    for (int f = 0; f < 2; ++f) {
      const ReductionFactor<T>& factor = factors[f];
      if (factor.columns == 0) continue;
      GemmTransposedVectors<T>(factor.vectors, factor.gated, rows[f], n, factor.columns,
                               block + factor.first_vector * V, vectors * V, factor.result,
                               /*accumulate=*/i > 0);
    }
    if (bias == nullptr) continue;
    for (int v = 0; v < vectors; ++v) Store(bias + v * V, padd(Load(bias + v * V), sum[v]));
  }
}

#if defined(RNN_OPS_ISA_AVX512)

// The same with gradient rows [R, ld] of bfloat16, where K is pairs of rows: `rows_of(pair,
// factor)` gives a row of PairRows.
template <typename RowsOf>
void ReducePanel(const Sequence& seq, const Pair* gradient, int64_t ld, int64_t at, int vectors,
                 const ReductionFactor<float> (&factors)[2], float* bias, RowsOf&& rows_of) {
  constexpr int V = kLanes<float>;
  constexpr int64_t kPairs = kReductionRows / 2;
  alignas(64) Pair block[kPairs * 4 * V];
  const Pair* rows[2][kPairs];
  std::fill(bias, bias + vectors * V, 0.0f);
  auto load = [&](int64_t row, int v) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(
        reinterpret_cast<const uint16_t*>(gradient) + row * ld + at + v * V));
  };
  auto wide = [](const __m256i& v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
  };
  const int64_t blocks = std::max<int64_t>(1, CeilDiv(seq.rows, kReductionRows));
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t row0 = i * kReductionRows;
    const int64_t n = std::min(kReductionRows, seq.rows - row0);
    Packet<float> sum[4] = {Set(0.0f), Set(0.0f), Set(0.0f), Set(0.0f)};
    for (int64_t k = 0; k < n; k += 2) {
      const int64_t ahead = std::min(row0 + k + kPrefetchRows, seq.rows - 1);
      const uint16_t* next = reinterpret_cast<const uint16_t*>(gradient) + ahead * ld + at;
      for (int v = 0; v < vectors; v += 2) {
        __builtin_prefetch(next + v * V);
        __builtin_prefetch(next + ld + v * V);
      }
      for (int v = 0; v < vectors; ++v) {
        const __m256i first = load(row0 + k, v);
        const __m256i second = k + 1 < n ? load(row0 + k + 1, v) : _mm256_setzero_si256();
        _mm512_storeu_si512(block + (k / 2 * vectors + v) * V, Interleave(first, second));
        sum[v] = padd(sum[v], padd(Packet<float>(wide(first)), Packet<float>(wide(second))));
      }
      for (int f = 0; f < 2; ++f) {
        if (factors[f].columns > 0) rows[f][k / 2] = rows_of((row0 + k) / 2, f);
      }
    }
    for (int f = 0; f < 2; ++f) {
      const ReductionFactor<float>& factor = factors[f];
      if (factor.columns == 0) continue;
      GemmTransposedVectors<float>(factor.vectors, false, rows[f], CeilDiv(n, 2), factor.columns,
                                   block + factor.first_vector * V, vectors * V, factor.result,
                                   /*accumulate=*/i > 0);
    }
    for (int v = 0; v < vectors; ++v) Store(bias + v * V, padd(Load(bias + v * V), sum[v]));
  }
}

#endif

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_WEIGHT_GRADIENT_H_
