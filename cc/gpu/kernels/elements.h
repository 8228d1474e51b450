// The basics of the kernels: the position in the grid, the 16-bit types and the activations. The
// header compiles with NVRTC (to PTX) and with a host compiler (for tests).
#pragma once

#include "cc/gpu/kernels/kernel_args.h"

#ifdef __CUDACC__
#define RNN_OPS_DEVICE __device__ __forceinline__
#ifdef RNN_OPS_INLINE_CALLS
#define RNN_OPS_DEVICE_CALL RNN_OPS_DEVICE  // where a call would move registers to memory
#else
#define RNN_OPS_DEVICE_CALL __device__ __noinline__  // once in the PTX, for long functions
#endif
#define RNN_OPS_KERNEL extern "C" __global__
#define RNN_OPS_NO_UNROLL _Pragma("unroll 1")
#else
#include <cmath>
#include <cstring>
#define RNN_OPS_DEVICE inline
#define RNN_OPS_DEVICE_CALL inline
#define RNN_OPS_KERNEL extern "C"
#define RNN_OPS_NO_UNROLL
#endif

namespace rnn_ops::gpu::elementwise {

// ---- The grid: x is for columns, y for rows ----

#ifdef __CUDACC__
RNN_OPS_DEVICE Int64 FirstColumn() { return blockIdx.x * (Int64)blockDim.x + threadIdx.x; }
RNN_OPS_DEVICE Int64 ColumnStep() { return gridDim.x * (Int64)blockDim.x; }
RNN_OPS_DEVICE Int64 FirstRow() { return blockIdx.y; }
RNN_OPS_DEVICE Int64 RowStep() { return gridDim.y; }
#else
// On the host, the caller of a kernel sets the position for each thread of the grid in turn.
struct GridPosition {
  Int64 column, column_step, row, row_step;
};
inline thread_local GridPosition grid_position = {0, 1, 0, 1};
inline Int64 FirstColumn() { return grid_position.column; }
inline Int64 ColumnStep() { return grid_position.column_step; }
inline Int64 FirstRow() { return grid_position.row; }
inline Int64 RowStep() { return grid_position.row_step; }
#endif

// Not unrolled, because the loops rarely run twice.
#define RNN_OPS_FOR_ROWS(k, count) \
  RNN_OPS_NO_UNROLL for (Int64 k = FirstRow(); k < (count); k += RowStep())
#define RNN_OPS_FOR_COLUMNS(k, count) \
  RNN_OPS_NO_UNROLL for (Int64 k = FirstColumn(); k < (count); k += ColumnStep())

// ---- Types ----

struct Half {
  unsigned short bits;
};
struct BFloat16 {
  unsigned short bits;
};

template <typename T>
struct MathTypeOf {
  typedef float type;
};
template <>
struct MathTypeOf<double> {
  typedef double type;
};
template <typename T>
using MathType = typename MathTypeOf<T>::type;

#ifdef __CUDACC__
RNN_OPS_DEVICE float FloatFromBits(unsigned bits) { return __uint_as_float(bits); }
RNN_OPS_DEVICE unsigned BitsOf(float value) { return __float_as_uint(value); }
RNN_OPS_DEVICE float WidenHalf(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
RNN_OPS_DEVICE unsigned short NarrowToHalf(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#else
inline float FloatFromBits(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline unsigned BitsOf(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
// Host versions of functions that are one instruction each on the GPU.
inline float WidenHalf(unsigned short bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value;
  if (exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}
inline unsigned short NarrowToHalf(float value) {
  const unsigned short sign = BitsOf(value) >> 16 & 0x8000;
  const float size = std::fabs(value);
  if (std::isnan(value)) return 0x7fff;
  if (size >= 65520.0f) return sign | 0x7c00;  // rounds to infinity
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);
  // The unit is 2^-24 for subnormal numbers; other numbers keep 11 significant bits. A carry from
  // rounding increments the exponent.
  const int unit = exponent - 11 < -24 ? -24 : exponent - 11;
  const int rounded = static_cast<int>(std::nearbyint(std::ldexp(size, -unit)));
  return static_cast<unsigned short>(sign | ((unit + 24) * 1024 + rounded));
}
#endif

RNN_OPS_DEVICE float Widen(float value) { return value; }
RNN_OPS_DEVICE double Widen(double value) { return value; }
RNN_OPS_DEVICE float Widen(Half value) { return WidenHalf(value.bits); }
RNN_OPS_DEVICE float Widen(BFloat16 value) { return FloatFromBits((unsigned)value.bits << 16); }

// Rounds to nearest even.
RNN_OPS_DEVICE void Narrow(float value, float* to) { *to = value; }
RNN_OPS_DEVICE void Narrow(double value, double* to) { *to = value; }
RNN_OPS_DEVICE void Narrow(float value, Half* to) { to->bits = NarrowToHalf(value); }
RNN_OPS_DEVICE void Narrow(float value, BFloat16* to) {
  const unsigned bits = BitsOf(value);
  const unsigned rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  to->bits = (unsigned short)(value != value ? 0x7fc0 : rounded);
}

template <typename T>
RNN_OPS_DEVICE MathType<T> Get(const void* tensor, Int64 at) {
  return Widen(static_cast<const T*>(tensor)[at]);
}
template <typename T>
RNN_OPS_DEVICE void Put(MathType<T> value, void* tensor, Int64 at) {
  Narrow(value, static_cast<T*>(tensor) + at);
}

// ---- Activations ----

#ifdef __CUDACC__
RNN_OPS_DEVICE float Exp(float x) { return expf(x); }
RNN_OPS_DEVICE double Exp(double x) { return exp(x); }
RNN_OPS_DEVICE float Tanh(float x) { return tanhf(x); }
RNN_OPS_DEVICE double Tanh(double x) { return tanh(x); }
#else
inline float Exp(float x) { return std::exp(x); }
inline double Exp(double x) { return std::exp(x); }
inline float Tanh(float x) { return std::tanh(x); }
inline double Tanh(double x) { return std::tanh(x); }
#endif

// For very negative x the result is 1 / (1 + inf), which is correctly 0.
template <typename A>
RNN_OPS_DEVICE A Sigmoid(A x) {
  return A(1) / (A(1) + Exp(-x));
}

// Derivatives, computed from the value of the function.
template <typename A>
RNN_OPS_DEVICE A SigmoidSlope(A y) {
  return y * (A(1) - y);
}
template <typename A>
RNN_OPS_DEVICE A TanhSlope(A y) {
  return A(1) - y * y;
}

// A sum over the threads of a block. On the host a block is one thread, which loops over all
// columns.

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
