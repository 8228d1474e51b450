// The activation functions on vectors. Their errors are documented in docs/numerics.md.
#pragma once

#include "cc/cpu/simd/isa.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// 1 / (1 + exp(-x))
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> Sigmoid(const Packet<T>& x) {
  return EigenLogistic<T>(x);
}

#if defined(RNN_OPS_ISA_AVX512)

// Let x = f - r * ln 2 with an integer r. Then exp(-x) = 2^r * exp(-f) with |f| < 0.35, and a
// polynomial of degree 6 has a relative error of 3e-9. Scaling by a power of two overflows to
// infinity, which is correct. NaN passes through both bounds.
template <>
EIGEN_ALWAYS_INLINE Packet<float> Sigmoid<float>(const Packet<float>& x) {
  const __m512 one = _mm512_set1_ps(1.0f);
  // Above the upper bound the result is 1. Below the lower bound the result differs from 0 by less
  // than the smallest normal number.
  const __m512 bounded =
      _mm512_max_ps(_mm512_set1_ps(-104.0f), _mm512_min_ps(_mm512_set1_ps(18.0f), x));
  const __m512 r = _mm512_roundscale_ps(_mm512_mul_ps(bounded, _mm512_set1_ps(-1.44269504f)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // ln 2 in two parts. The first part has few bits, so its product with r is exact.
  __m512 f = _mm512_fmadd_ps(r, _mm512_set1_ps(0.693359375f), bounded);
  f = _mm512_fmadd_ps(r, _mm512_set1_ps(-2.12194440e-4f), f);
  __m512 p = _mm512_set1_ps(1.381422160e-3f);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(-8.368899114e-3f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(4.166840389e-2f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(-1.666651964e-1f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(4.999999404e-1f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(-1.0f));
  p = _mm512_fmadd_ps(p, f, one);
  return _mm512_div_ps(one, _mm512_add_ps(one, _mm512_scalef_ps(p, r)));
}

#endif

template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> Tanh(const Packet<T>& x) {
  return EigenTanh(x);
}

// max(x, 0), or NaN if x is NaN.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> Relu(const Packet<T>& x) {
  return Max(x, Set<T>(T(0)));
}

// x clipped to [-limit, limit], or NaN if x is NaN.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> Limit(const Packet<T>& x, T limit) {
  return Max(Min(x, Set<T>(limit)), Set<T>(-limit));
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
