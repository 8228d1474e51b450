// Matrix times vector on unpacked weights in the caller's tensors. For calls so short that packing
// the weights would take longer than the products.
#pragma once

#include <algorithm>
#include <cstdint>

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

// out(c) += sum_k x[k] * w[k * stride + c] for NV vectors of columns. The first n columns are
// valid. Vector v of the result is at out + v * out_stride.
template <typename T, int NV>
void AddColumnSums(const T* w, int64_t stride, int64_t n, const T* x, int64_t depth, T* out,
                   int64_t out_stride) {
  constexpr int V = kLanes<T>;
  Packet<T> sums[NV];
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) sums[v] = Load(out + v * out_stride);
  if (n >= NV * V) {
    for (int64_t k = 0; k < depth; ++k, w += stride) {
      const Packet<T> xk = Set<T>(x[k]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) sums[v] = pmadd(Load(w + v * V), xk, sums[v]);
    }
  } else {
    for (int64_t k = 0; k < depth; ++k, w += stride) {
      const Packet<T> xk = Set<T>(x[k]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) sums[v] = pmadd(LoadFirst(w + v * V, n - v * V), xk, sums[v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) Store(out + v * out_stride, sums[v]);
}

// AddColumnSums for any number n of columns.
template <typename T>
void AddColumns(const T* w, int64_t stride, int64_t n, const T* x, int64_t depth, T* out,
                int64_t out_stride) {
  constexpr int V = kLanes<T>;
  int64_t c = 0;
  for (; c + 8 * V <= n; c += 8 * V) {
    AddColumnSums<T, 8>(w + c, stride, n - c, x, depth, out + c / V * out_stride, out_stride);
  }
  for (; c + 2 * V <= n; c += 2 * V) {
    AddColumnSums<T, 2>(w + c, stride, n - c, x, depth, out + c / V * out_stride, out_stride);
  }
  for (; c < n; c += V) {
    AddColumnSums<T, 1>(w + c, stride, n - c, x, depth, out + c / V * out_stride, out_stride);
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
