// Dense layers: the product of the kernels without a recurrence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/simd/int8.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Note [One column]
// A kernel of one column is not a panel but a row, padded to whole vectors, and a product is a dot
// product: a panel would multiply V - 1 columns of zeros, one product after the other. Every row
// of a batch is summed in the same order.

// The panels, and behind them the bias in whole vectors.
inline DenseFormat FormatOfDense(int64_t depth, int64_t columns) {
  constexpr int64_t V = kLanes<float>;
  if (columns == 1) {
    return {(RoundUp(depth, V) + V) * int64_t{sizeof(float)}, 1, depth * int64_t{sizeof(float)}};
  }
  const int64_t elements = DensePanelsSize<float>(depth, columns) + RoundUp(columns, kLanes<float>);
  return {elements * int64_t{sizeof(float)}, DensePanels<float>(columns),
          depth * int64_t{sizeof(float)}};
}

inline void PackDense(const DenseArgs* args, const float* kernel, const float* bias) {
  const int64_t depth = args->depth, columns = args->columns;
  float* const packed = static_cast<float*>(args->packed);
  if (columns == 1) {
    const int64_t padded = RoundUp(depth, kLanes<float>);
    std::copy(kernel, kernel + depth, packed);
    std::fill(packed + depth, packed + padded, 0.0f);
    packed[padded] = bias == nullptr ? 0.0f : bias[0];
    return;
  }
  const MatrixView<const float> source = {kernel, columns, 1};
  for (int64_t p = 0; p < DensePanels<float>(columns); ++p) {
    PackDensePanel(source, depth, columns, p, packed + DensePanelOffset<float>(depth, p));
  }
  float* const padded = packed + DensePanelsSize<float>(depth, columns);
  std::fill(padded, padded + RoundUp(columns, kLanes<float>), 0.0f);
  if (bias != nullptr) std::copy(bias, bias + columns, padded);
}

// The dot product of x and w, which is padded with zeros to whole vectors.
inline float DotProduct(const float* x, const float* w, int64_t n) {
  constexpr int V = kLanes<float>, kSums = 4;
  Packet<float> sums[kSums];
#pragma GCC unroll 4
  for (int i = 0; i < kSums; ++i) sums[i] = Set(0.0f);
  int64_t k = 0;
  for (; k + kSums * V <= n; k += kSums * V) {
#pragma GCC unroll 4
    for (int i = 0; i < kSums; ++i) {
      sums[i] = pmadd(Load(x + k + i * V), Load(w + k + i * V), sums[i]);
    }
  }
  for (; k < n; k += V) sums[0] = pmadd(LoadFirst(x + k, n - k), Load(w + k), sums[0]);
  return SumOfLanes(padd(padd(sums[0], sums[1]), padd(sums[2], sums[3])));
}

inline void Dense(const DenseArgs* args, int64_t begin, int64_t end) {
  const float* const packed = static_cast<const float*>(args->packed);
  if (args->columns == 1) {
    const float bias = packed[RoundUp(args->depth, kLanes<float>)];
    for (int64_t i = 0; i < args->rows && begin < end; ++i) {
      const float* const x = static_cast<const float*>(args->input[i]);
      args->output[i][0] = DotProduct(x, packed, args->depth) + bias;
    }
    return;
  }
  RowGemm<float> g = {args->input,  args->output, args->rows, RunsOfK::Dense(args->depth),
                      args->packed, args->columns};
  g.start = Start::kBias;
  g.bias = packed + DensePanelsSize<float>(args->depth, args->columns);
  g.batch = args->one_row ? BatchRows::kOne : BatchRows::kMany;
  GemmDense(g, begin, end);
}

// ---- int8 ----
//
// The numbers are those of Keras to the bit: a sum of integers is exact, and each element is
// divided once. So the headers of Note [Quads] have factors of 1. A quantized row has its scale at
// the end.

// The bytes of a row of quads, without the scale.
inline int64_t QuadBytes(int64_t depth) {
  return kQuadHeader * int64_t{sizeof(Quad)} + RoundUp(depth, kLanes<float>);
}

// The panels, and behind them the scales and the bias in whole vectors.
inline DenseFormat FormatOfQuantizedDense(int64_t depth, int64_t columns) {
  const int64_t padded = RoundUp(columns, kLanes<float>);
  const int64_t elements = DensePanelsSize<float>(OperandsOf<Quad>(depth), columns) + 2 * padded;
  return {elements * int64_t{sizeof(float)}, DensePanels<float>(columns),
          RoundUp(QuadBytes(depth) + int64_t{sizeof(float)}, 64)};
}

// The scales behind the panels.
inline float* ScalesOf(const DenseArgs* args) {
  return static_cast<float*>(args->packed) +
         DensePanelsSize<float>(OperandsOf<Quad>(args->depth), args->columns);
}

inline void PackQuantizedDense(const DenseArgs* args, const int8_t* kernel, const float* scales,
                               const float* bias) {
  constexpr int V = kLanes<float>;
  const int64_t depth = args->depth, columns = args->columns, padded = RoundUp(columns, V);
  const int64_t operands = OperandsOf<Quad>(depth);
  auto* const packed = static_cast<Quad*>(args->packed);
  const MatrixView<const int8_t> source = {kernel, columns, 1};
  float ones[V];
  std::fill(ones, ones + V, 1.0f);
  for (int64_t p = 0; p < DensePanels<float>(columns); ++p) {
    Quad* const panel = packed + DensePanelOffset<float>(operands, p);
    PackDensePanel(source, depth, columns, p, panel);
    const int nv = PanelVectors(padded / V, p);
    for (int v = 0; v < nv; ++v) PackScales(ones, V, panel + v * V, nv * V);
  }
  float* const padded_scales = ScalesOf(args);
  float* const padded_bias = padded_scales + padded;
  std::copy(scales, scales + columns, padded_scales);
  std::fill(padded_scales + columns, padded_bias, 1.0f);
  std::fill(padded_bias, padded_bias + padded, 0.0f);
  if (bias != nullptr) std::copy(bias, bias + columns, padded_bias);
}

// SOURCE: keras/src/quantizers/quantizers.py, abs_max_quantize.
inline void QuantizeDenseRow(const float* x, int64_t depth, float epsilon, void* row) {
  const float largest = LargestOf(x, depth);
  const bool finite = largest <= std::numeric_limits<float>::max();
  const float scale = finite ? 127 / (largest + epsilon) : std::numeric_limits<float>::quiet_NaN();
  WriteQuads(x, depth, scale, /*factor=*/1.0f, static_cast<Quad*>(row));
  std::memcpy(static_cast<char*>(row) + QuadBytes(depth), &scale, sizeof(scale));
}

// SOURCE: keras/src/layers/core/dense.py, Dense._int8_call.
inline void QuantizedDense(const DenseArgs* args, int64_t begin, int64_t end) {
  constexpr int V = kLanes<float>;
  RowGemm<float> g = {args->input,  args->output,
                      args->rows,   RunsOfK::Dense(OperandsOf<Quad>(args->depth)),
                      args->packed, args->columns};
  g.operands = OperandType::kQuads;
  GemmDense(g, begin, end);
  const float* const scales = ScalesOf(args);
  const float* const bias = scales + RoundUp(args->columns, V);
  for (int64_t i = 0; i < args->rows; ++i) {
    float scale;
    std::memcpy(&scale, static_cast<const char*>(args->input[i]) + QuadBytes(args->depth),
                sizeof(scale));
    float* const y = args->output[i];
    for (int64_t n = begin * 4 * V; n < std::min(end * 4 * V, args->columns); n += V) {
      const int64_t count = args->columns - n;
      const Packet<float> divisor = pmul(Load(scales + n), Set<float>(scale));
      const Packet<float> quotient = pdiv(LoadFirst(y + n, count), divisor);
      StoreFirst(y + n, padd(quotient, Load(bias + n)), count);
    }
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
