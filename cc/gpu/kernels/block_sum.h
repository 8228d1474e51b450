// A sum over the threads of a block. On the host a block is one thread, which loops over all
// columns.
#pragma once

#include "cc/gpu/kernels/elements.h"

namespace rnn_ops::gpu::elementwise {

#ifdef __CUDACC__
RNN_OPS_DEVICE float SquareRoot(float x) { return sqrtf(x); }
RNN_OPS_DEVICE double SquareRoot(double x) { return sqrt(x); }

// Every thread of the block must call it, and gets the same sum. The order depends on the size of
// the block only. The block has whole warps, at most 32.
template <typename A>
RNN_OPS_DEVICE A BlockSum(A value) {
  __shared__ A sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (unsigned step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  __syncthreads();  // the sums of the call before have been read
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  A sum = sums[0];
  for (unsigned k = 1; k < warps; ++k) sum += sums[k];
  return sum;
}
#else
inline float SquareRoot(float x) { return std::sqrt(x); }
inline double SquareRoot(double x) { return std::sqrt(x); }

template <typename A>
A BlockSum(A value) {
  return value;
}
#endif

}  // namespace rnn_ops::gpu::elementwise
