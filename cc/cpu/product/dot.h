// Products of few rows with unpacked weights in the caller's tensors. For calls so short that
// packing the weights would take longer than the products.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Returns, in lane r < n, the dot product of w[r * stride ...] and x, both of length `depth`. The
// other lanes are zero.
template <typename T>
Packet<T> DotRows(const T* w, int64_t stride, int64_t n, const T* x, int64_t depth) {
  constexpr int V = kLanes<T>;
  Block<T> sums;
  for (int r = 0; r < V; ++r) sums.packet[r] = Set<T>(T(0));
  int64_t k = 0;
  if (n >= V) {
    for (; k + V <= depth; k += V) {
      const Packet<T> xk = Load(x + k);
#pragma GCC unroll 16
      for (int r = 0; r < V; ++r) {
        sums.packet[r] = pmadd(Load(w + r * stride + k), xk, sums.packet[r]);
      }
    }
  }
  for (; k < depth; k += V) {
    const int64_t rest = depth - k;
    const Packet<T> xk = LoadFirst(x + k, rest);
    for (int r = 0; r < std::min<int64_t>(V, n); ++r) {
      sums.packet[r] = pmadd(LoadFirst(w + r * stride + k, rest), xk, sums.packet[r]);
    }
  }
  // Lane r of every transposed packet is one part of sum r.
  ptranspose(sums);
  for (int half = V / 2; half > 0; half /= 2) {
    for (int r = 0; r < half; ++r) {
      sums.packet[r] = padd(sums.packet[r], sums.packet[r + half]);
    }
  }
  return sums.packet[0];
}

// The most rows of a product by columns that share what they read of w, and the vectors of columns
// of a tile of M rows.
constexpr int kColumnRows = kTileRows<2> < 6 ? kTileRows<2> : 6;
template <int M>
constexpr int kColumnVectors = M <= kTileRows<8>   ? 8
                               : M <= kTileRows<4> ? 4
                                                   : 2;

// M rows of x from some k on, and where the sums of each are.
template <typename T, int M>
struct ColumnRows {
  RowsOfA<T, M> x;
  T* sums[M];
};

// AddColumns for NV vectors of columns. The last vector has `last` valid columns.
template <typename T, int M, int NV>
EIGEN_ALWAYS_INLINE void AddColumnTile(const T* w, int64_t stride, int64_t last, int64_t depth,
                                       const ColumnRows<T, M>& rows, int64_t at,
                                       int64_t sum_stride) {
  constexpr int V = kLanes<T>;
  Packet<T> acc[M][NV];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[m][v] = Load(rows.sums[m] + at + v * sum_stride);
  }
  if (last == V) {
    MultiplyTile<T, M, NV>(rows.x, RowsOfB<T>{w, stride}, depth, NothingAhead(), acc);
  } else {
    for (int64_t k = 0; k < depth; ++k, w += stride) {
      Packet<T> wk[NV];
#pragma GCC unroll 8
      for (int v = 0; v < NV - 1; ++v) wk[v] = Load(w + v * V);
      wk[NV - 1] = LoadTail(w + (NV - 1) * V, last);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) MultiplyRow<T, T, NV, false>(rows.x, m, k, wk, acc[m]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) Store(rows.sums[m] + at + v * sum_stride, acc[m][v]);
  }
}

// sums[m](c) += sum_k x[m][k] * w[k * stride + c] for c < n and k < depth, k in order. Vector v of
// the sums of a row is at sums[m] + at + v * sum_stride.
template <typename T, int M>
EIGEN_DONT_INLINE void AddColumns(const T* w, int64_t stride, int64_t n, int64_t depth,
                                  const ColumnRows<T, M>& rows, int64_t at, int64_t sum_stride) {
  constexpr int V = kLanes<T>, NV = kColumnVectors<M>;
  for (; n > 0; n -= NV * V, w += NV * V, at += NV * sum_stride) {
    const int vectors = static_cast<int>(std::min<int64_t>(NV, CeilDiv(n, V)));
    WithConstant<NV>(vectors, [&](auto nv) {
      constexpr int N = decltype(nv)::value;
      AddColumnTile<T, M, N>(w, stride, std::min<int64_t>(V, n - (N - 1) * V), depth, rows, at,
                             sum_stride);
    });
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
