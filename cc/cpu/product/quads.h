// Products of quantized rows and panels of int8 (Note [Quads]).
//
// WHY not the register tiles of the other operands: a cell would be compiled once for each number
// of rows, for each of two units. Here the sums go through memory to the cell, which costs little
// compared with the product of a whole K. The AVX2 object grows by 18 % instead of 29 %.
#pragma once

#include <cstdint>

#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/int8.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// acc[m][v] += row m of A times vector v of a panel of `depth` operands.
template <typename Unit, int M, int NV>
void MultiplyQuads(const void* const* a, const Quad* b, int64_t depth, const Ahead& next,
                   Packet<float> (*acc)[NV]) {
  constexpr int V = kLanes<float>;
  constexpr int64_t ldb = NV * V;
  const Quad* row[M];
  Int32s sums[M][NV];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    row[m] = static_cast<const Quad*>(a[m]);
    const Int32s start = SetInt32s(Unit::kOffset ? OffsetOf(row[m]) : 0);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sums[m][v] = start;
  }
  const Quad* at = b + kQuadHeader * ldb;
  for (int64_t k = kQuadHeader; k < depth; ++k, at += ldb) {
    next.Fetch(k);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      const typename Unit::B weights = Unit::Prepare(at + v * V);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) {
        sums[m][v] = Unit::Dot(sums[m][v], Unit::Broadcast(row[m] + k), weights);
      }
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) {
    const Packet<float> scale = Load(reinterpret_cast<const float*>(b) + v * V);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      // WHY not sum * (factor * scale): with a sum of 0, factor * scale may be infinite.
      const Packet<float> product = pmul(ToFloats(sums[m][v]), scale);
      acc[m][v] = pmadd(product, Set<float>(FactorOf(row[m])), acc[m][v]);
    }
  }
}

// MultiplyQuads for at most kTileRows<NV> rows, with the unit of this CPU.
template <int NV>
EIGEN_DONT_INLINE void MultiplyQuadRows(const void* const* a, int rows, const Quad* b,
                                        int64_t depth, const Ahead& next,
                                        Packet<float> (*acc)[NV]) {
  const bool has_dot = CpuHasDotUnit();
  WithConstant<kTileRows<NV>>(rows, [&](auto m) {
    if (has_dot) {
      MultiplyQuads<DotUnit, decltype(m)::value, NV>(a, b, depth, next, acc);
    } else {
      MultiplyQuads<PlainUnit, decltype(m)::value, NV>(a, b, depth, next, acc);
    }
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
