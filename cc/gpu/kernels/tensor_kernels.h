// Copies that convert, permute or mask. In copies without arithmetic, T is an unsigned integer of
// the size of an element.
#pragma once

#include "cc/gpu/kernels/elements.h"
#include "cc/gpu/kernels/kernel_args.h"

namespace rnn_ops::gpu::elementwise {

template <typename From, typename To>
RNN_OPS_DEVICE void Convert(const Conversion& p) {
  RNN_OPS_FOR_COLUMNS(k, p.size) { Put<To>(Get<From>(p.from, k), p.to, k); }
}

template <typename T>
RNN_OPS_DEVICE void SwapLeadingDims(const SwapLeading& p) {
  const T* from = static_cast<const T*>(p.from);
  T* to = static_cast<T*>(p.to);
  RNN_OPS_FOR_ROWS(k, p.rows * p.columns) {
    const Int64 swapped = k % p.columns * p.rows + k / p.columns;
    RNN_OPS_FOR_COLUMNS(u, p.width) { to[swapped * p.width + u] = from[k * p.width + u]; }
  }
}

// Selects instead of multiplying by 0, because masked values may be NaN.
template <typename T>
RNN_OPS_DEVICE void CopyRow(const MaskRows& p, Int64 row, bool keep) {
  const T* from = static_cast<const T*>(p.from) + row * p.width;
  T* to = static_cast<T*>(p.to) + row * p.width;
  RNN_OPS_FOR_COLUMNS(u, p.width) { to[u] = keep ? from[u] : T(0); }
}

template <typename T>
RNN_OPS_DEVICE void MaskSequence(const MaskRows& p) {
  RNN_OPS_FOR_ROWS(row, p.outer * p.batch) {
    const Int64 b = p.time_major ? row % p.batch : row / p.outer;
    const Int64 t = p.time_major ? row / p.batch : row % p.outer;
    CopyRow<T>(p, row, t < p.lengths[b]);
  }
}

template <typename T>
RNN_OPS_DEVICE void CopyEmptyRows(const MaskRows& p) {
  RNN_OPS_FOR_ROWS(row, p.outer * p.batch) {
    if (p.lengths[row % p.batch] == 0) CopyRow<T>(p, row, /*keep=*/true);
  }
}

template <typename T>
RNN_OPS_DEVICE void ZeroEmptyRows(const MaskRows& p) {
  RNN_OPS_FOR_ROWS(row, p.outer * p.batch) { CopyRow<T>(p, row, p.lengths[row % p.batch] > 0); }
}

}  // namespace rnn_ops::gpu::elementwise
