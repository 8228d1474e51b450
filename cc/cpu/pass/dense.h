// A dense layer: the product of the kernels without a recurrence.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The panels, and behind them the bias in whole vectors.
inline DenseFormat FormatOfDense(int64_t depth, int64_t columns) {
  const int64_t elements = DensePanelsSize<float>(depth, columns) + RoundUp(columns, kLanes<float>);
  return {elements * int64_t{sizeof(float)}, DensePanels<float>(columns)};
}

inline void PackDense(const DenseArgs* args, const float* kernel, const float* bias) {
  const int64_t depth = args->depth, columns = args->columns;
  float* const packed = static_cast<float*>(args->packed);
  const MatrixView<const float> source = {kernel, columns, 1};
  for (int64_t p = 0; p < DensePanels<float>(columns); ++p) {
    PackDensePanel(source, depth, columns, p, packed + DensePanelOffset<float>(depth, p));
  }
  float* const padded = packed + DensePanelsSize<float>(depth, columns);
  std::fill(padded, padded + RoundUp(columns, kLanes<float>), 0.0f);
  if (bias != nullptr) std::copy(bias, bias + columns, padded);
}

inline void Dense(const DenseArgs* args, int64_t begin, int64_t end) {
  const float* const packed = static_cast<const float*>(args->packed);
  RowGemm<float> g = {args->input,  args->output, args->rows, RunsOfK::Dense(args->depth),
                      args->packed, args->columns};
  g.start = Start::kBias;
  g.bias = packed + DensePanelsSize<float>(args->depth, args->columns);
  g.batch = args->one_row ? BatchRows::kOne : BatchRows::kMany;
  GemmDense(g, begin, end);
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
