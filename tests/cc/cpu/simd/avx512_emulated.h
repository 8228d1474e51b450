// The registers of AVX-512 as two of AVX2 each, and the intrinsics on them that the kernels use:
// for test objects, so that the code of the AVX-512 level runs on every CPU with AVX2.
//
// The names are those of the compiler. In this namespace they hide the compiler's, so the kernels
// are the same source for both. Included by vec.h.
#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "cc/core/check.h"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

struct __m512 {
  __m256 lo, hi;
};
struct __m512d {
  __m256d lo, hi;
};
struct __m512i {
  __m256i lo, hi;
};

// f on each half.
template <typename R, typename V, typename F>
EIGEN_ALWAYS_INLINE R Halves(const V& a, F&& f) {
  return {f(a.lo), f(a.hi)};
}
template <typename R, typename V, typename F>
EIGEN_ALWAYS_INLINE R Halves(const V& a, const V& b, F&& f) {
  return {f(a.lo, b.lo), f(a.hi, b.hi)};
}

// The lanes of a vector in memory.
template <typename E, typename V>
struct Lanes {
  static constexpr int kCount = sizeof(V) / sizeof(E);
  explicit Lanes(const V& v) { std::memcpy(lane, &v, sizeof(v)); }
  V Vector() const {
    V v;
    std::memcpy(&v, lane, sizeof(v));
    return v;
  }
  alignas(sizeof(V)) E lane[kCount];
};

// ---- Memory ----

inline __m512 _mm512_loadu_ps(const void* p) {
  __m512 v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
inline __m512i _mm512_loadu_si512(const void* p) {
  __m512i v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
inline void _mm512_storeu_ps(void* p, const __m512& v) { std::memcpy(p, &v, sizeof(v)); }
inline void _mm512_storeu_si512(void* p, const __m512i& v) { std::memcpy(p, &v, sizeof(v)); }

template <typename E, typename V>
V MaskedLoad(uint32_t mask, const E* p) {
  Lanes<E, V> v{V{}};
  for (int k = 0; k < v.kCount; ++k) {
    if ((mask >> k & 1) != 0) v.lane[k] = p[k];
  }
  return v.Vector();
}
template <typename E, typename V>
void MaskedStore(E* p, uint32_t mask, const V& vector) {
  const Lanes<E, V> v(vector);
  for (int k = 0; k < v.kCount; ++k) {
    if ((mask >> k & 1) != 0) p[k] = v.lane[k];
  }
}
inline __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void* p) {
  return MaskedLoad<float, __m512>(mask, static_cast<const float*>(p));
}
inline __m512d _mm512_maskz_loadu_pd(__mmask8 mask, const void* p) {
  return MaskedLoad<double, __m512d>(mask, static_cast<const double*>(p));
}
inline __m512 _mm512_maskz_mov_ps(__mmask16 mask, const __m512& v) {
  return MaskedLoad<float, __m512>(mask, Lanes<float, __m512>(v).lane);
}
inline __m512d _mm512_maskz_mov_pd(__mmask8 mask, const __m512d& v) {
  return MaskedLoad<double, __m512d>(mask, Lanes<double, __m512d>(v).lane);
}
inline void _mm512_mask_storeu_ps(void* p, __mmask16 mask, const __m512& v) {
  MaskedStore(static_cast<float*>(p), mask, v);
}
inline void _mm512_mask_storeu_pd(void* p, __mmask8 mask, const __m512d& v) {
  MaskedStore(static_cast<double*>(p), mask, v);
}
inline void _mm256_mask_storeu_epi16(void* p, __mmask16 mask, const __m256i& v) {
  MaskedStore(static_cast<uint16_t*>(p), mask, v);
}

// ---- float ----

inline __m512 _mm512_set1_ps(float value) {
  const __m256 half = _mm256_set1_ps(value);
  return {half, half};
}
inline __m512 _mm512_setzero_ps() { return _mm512_set1_ps(0.0f); }
inline __m512 _mm512_add_ps(const __m512& a, const __m512& b) {
  return Halves<__m512>(a, b, [](__m256 x, __m256 y) { return _mm256_add_ps(x, y); });
}
inline __m512 _mm512_mul_ps(const __m512& a, const __m512& b) {
  return Halves<__m512>(a, b, [](__m256 x, __m256 y) { return _mm256_mul_ps(x, y); });
}
inline __m512 _mm512_div_ps(const __m512& a, const __m512& b) {
  return Halves<__m512>(a, b, [](__m256 x, __m256 y) { return _mm256_div_ps(x, y); });
}
inline __m512 _mm512_max_ps(const __m512& a, const __m512& b) {
  return Halves<__m512>(a, b, [](__m256 x, __m256 y) { return _mm256_max_ps(x, y); });
}
inline __m512 _mm512_min_ps(const __m512& a, const __m512& b) {
  return Halves<__m512>(a, b, [](__m256 x, __m256 y) { return _mm256_min_ps(x, y); });
}
inline __m512 _mm512_fmadd_ps(const __m512& a, const __m512& b, const __m512& c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline __m512 _mm512_roundscale_ps(const __m512& v, int mode) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  RNN_DCHECK(mode == kNearest);
  return Halves<__m512>(v, [](__m256 x) { return _mm256_round_ps(x, kNearest); });
}
// a * 2^floor(b)
inline __m512 _mm512_scalef_ps(const __m512& a, const __m512& b) {
  Lanes<float, __m512> v(a);
  const Lanes<float, __m512> power(b);
  for (int k = 0; k < v.kCount; ++k) {
    const float n = std::floor(power.lane[k]);
    v.lane[k] = std::isnan(n) ? n : std::ldexp(v.lane[k], static_cast<int>(n));
  }
  return v.Vector();
}
inline __mmask16 _mm512_cmp_ps_mask(const __m512& a, const __m512& b, int predicate) {
  RNN_DCHECK(predicate == _CMP_UNORD_Q);
  const int lo = _mm256_movemask_ps(_mm256_cmp_ps(a.lo, b.lo, _CMP_UNORD_Q));
  const int hi = _mm256_movemask_ps(_mm256_cmp_ps(a.hi, b.hi, _CMP_UNORD_Q));
  return static_cast<__mmask16>(hi << 8 | lo);
}

// ---- Integers ----

inline __m512i _mm512_castps_si512(const __m512& v) {
  return Halves<__m512i>(v, [](__m256 x) { return _mm256_castps_si256(x); });
}
inline __m512 _mm512_castsi512_ps(const __m512i& v) {
  return Halves<__m512>(v, [](__m256i x) { return _mm256_castsi256_ps(x); });
}
inline __m512i _mm512_set1_epi32(int value) {
  const __m256i half = _mm256_set1_epi32(value);
  return {half, half};
}
inline __m512i _mm512_add_epi32(const __m512i& a, const __m512i& b) {
  return Halves<__m512i>(a, b, [](__m256i x, __m256i y) { return _mm256_add_epi32(x, y); });
}
inline __m512i _mm512_and_si512(const __m512i& a, const __m512i& b) {
  return Halves<__m512i>(a, b, [](__m256i x, __m256i y) { return _mm256_and_si256(x, y); });
}
inline __m512i _mm512_or_si512(const __m512i& a, const __m512i& b) {
  return Halves<__m512i>(a, b, [](__m256i x, __m256i y) { return _mm256_or_si256(x, y); });
}
inline __m512i _mm512_xor_si512(const __m512i& a, const __m512i& b) {
  return Halves<__m512i>(a, b, [](__m256i x, __m256i y) { return _mm256_xor_si256(x, y); });
}
inline __m512i _mm512_madd_epi16(const __m512i& a, const __m512i& b) {
  return Halves<__m512i>(a, b, [](__m256i x, __m256i y) { return _mm256_madd_epi16(x, y); });
}
inline __m512i _mm512_slli_epi32(const __m512i& v, unsigned bits) {
  const int n = static_cast<int>(bits);
  return Halves<__m512i>(v, [n](__m256i x) { return _mm256_slli_epi32(x, n); });
}
inline __m512i _mm512_srli_epi32(const __m512i& v, unsigned bits) {
  const int n = static_cast<int>(bits);
  return Halves<__m512i>(v, [n](__m256i x) { return _mm256_srli_epi32(x, n); });
}
inline __m512i _mm512_slli_epi16(const __m512i& v, unsigned bits) {
  const int n = static_cast<int>(bits);
  return Halves<__m512i>(v, [n](__m256i x) { return _mm256_slli_epi16(x, n); });
}
inline __m512i _mm512_srai_epi16(const __m512i& v, unsigned bits) {
  const int n = static_cast<int>(bits);
  return Halves<__m512i>(v, [n](__m256i x) { return _mm256_srai_epi16(x, n); });
}
inline __m512i _mm512_mask_mov_epi32(const __m512i& other, __mmask16 mask, const __m512i& v) {
  Lanes<uint32_t, __m512i> result(other);
  const Lanes<uint32_t, __m512i> from(v);
  for (int k = 0; k < result.kCount; ++k) {
    if ((mask >> k & 1) != 0) result.lane[k] = from.lane[k];
  }
  return result.Vector();
}

// ---- Conversions ----

inline __m512 _mm512_cvtepi32_ps(const __m512i& v) {
  return Halves<__m512>(v, [](__m256i x) { return _mm256_cvtepi32_ps(x); });
}
inline __m512i _mm512_cvtps_epi32(const __m512& v) {
  return Halves<__m512i>(v, [](__m256 x) { return _mm256_cvtps_epi32(x); });
}
inline __m512i _mm512_cvtepu16_epi32(const __m256i& v) {
  return {_mm256_cvtepu16_epi32(_mm256_castsi256_si128(v)),
          _mm256_cvtepu16_epi32(_mm256_extracti128_si256(v, 1))};
}
// The lower halves of the lanes.
inline __m256i _mm512_cvtepi32_epi16(const __m512i& v) {
  const Lanes<uint32_t, __m512i> from(v);
  Lanes<uint16_t, __m256i> to(_mm256_setzero_si256());
  for (int k = 0; k < to.kCount; ++k) to.lane[k] = static_cast<uint16_t>(from.lane[k]);
  return to.Vector();
}
// The lanes clipped to [-128, 127].
inline __m128i _mm512_cvtsepi32_epi8(const __m512i& v) {
  const Lanes<int32_t, __m512i> from(v);
  Lanes<int8_t, __m128i> to(_mm_setzero_si128());
  for (int k = 0; k < to.kCount; ++k) {
    const int32_t x = from.lane[k];
    to.lane[k] = static_cast<int8_t>(x < -128 ? -128 : x > 127 ? 127 : x);
  }
  return to.Vector();
}

// ---- The functions of vec.h ----

template <>
EIGEN_ALWAYS_INLINE __m512 Load<float>(const float* p) {
  return _mm512_loadu_ps(p);
}
template <>
EIGEN_ALWAYS_INLINE __m512d Load<double>(const double* p) {
  return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)};
}
template <>
EIGEN_ALWAYS_INLINE void Store<float>(float* p, const __m512& v) {
  _mm512_storeu_ps(p, v);
}
template <>
EIGEN_ALWAYS_INLINE void Store<double>(double* p, const __m512d& v) {
  _mm256_storeu_pd(p, v.lo);
  _mm256_storeu_pd(p + 4, v.hi);
}
template <>
EIGEN_ALWAYS_INLINE __m512 Set<float>(float value) {
  return _mm512_set1_ps(value);
}
template <>
EIGEN_ALWAYS_INLINE __m512d Set<double>(double value) {
  const __m256d half = _mm256_set1_pd(value);
  return {half, half};
}
template <typename T>
EIGEN_ALWAYS_INLINE __m512 EigenLogistic(const __m512& x) {
  return Halves<__m512>(x, [](const __m256& v) { return EigenLogistic<float>(v); });
}
template <typename T>
EIGEN_ALWAYS_INLINE __m512d EigenLogistic(const __m512d& x) {
  return Halves<__m512d>(x, [](const __m256d& v) { return EigenLogistic<double>(v); });
}

EIGEN_ALWAYS_INLINE float SumOfLanes(const __m512& x) {
  return SumOfLanes(Eigen::internal::padd(x.lo, x.hi));
}
EIGEN_ALWAYS_INLINE float LargestOfLanes(const __m512& x) {
  return LargestOfLanes(Max(x.lo, x.hi));
}
EIGEN_ALWAYS_INLINE __m512 PowerOfTwo(const __m512& x) {
  return Halves<__m512>(x, [](const __m256& v) { return PowerOfTwo(v); });
}

// The functions on both types of vectors.
#define RNN_OPS_HALVES_1(name)                                           \
  EIGEN_ALWAYS_INLINE __m512 name(const __m512& a) {                     \
    return Halves<__m512>(a, [](const __m256& x) { return name(x); });   \
  }                                                                      \
  EIGEN_ALWAYS_INLINE __m512d name(const __m512d& a) {                   \
    return Halves<__m512d>(a, [](const __m256d& x) { return name(x); }); \
  }
#define RNN_OPS_HALVES_2(name)                                                                   \
  EIGEN_ALWAYS_INLINE __m512 name(const __m512& a, const __m512& b) {                            \
    return Halves<__m512>(a, b, [](const __m256& x, const __m256& y) { return name(x, y); });    \
  }                                                                                              \
  EIGEN_ALWAYS_INLINE __m512d name(const __m512d& a, const __m512d& b) {                         \
    return Halves<__m512d>(a, b, [](const __m256d& x, const __m256d& y) { return name(x, y); }); \
  }
#define RNN_OPS_HALVES_3(name)                                                             \
  EIGEN_ALWAYS_INLINE __m512 name(const __m512& a, const __m512& b, const __m512& c) {     \
    return {name(a.lo, b.lo, c.lo), name(a.hi, b.hi, c.hi)};                               \
  }                                                                                        \
  EIGEN_ALWAYS_INLINE __m512d name(const __m512d& a, const __m512d& b, const __m512d& c) { \
    return {name(a.lo, b.lo, c.lo), name(a.hi, b.hi, c.hi)};                               \
  }
RNN_OPS_HALVES_1(Abs)
RNN_OPS_HALVES_1(EigenTanh)
RNN_OPS_HALVES_2(padd)
RNN_OPS_HALVES_2(psub)
RNN_OPS_HALVES_2(pmul)
RNN_OPS_HALVES_2(pdiv)
RNN_OPS_HALVES_2(Max)
RNN_OPS_HALVES_2(Min)
RNN_OPS_HALVES_2(Less)
RNN_OPS_HALVES_2(LessOrEqual)
RNN_OPS_HALVES_2(And)
RNN_OPS_HALVES_3(pmadd)
RNN_OPS_HALVES_3(Select)
#undef RNN_OPS_HALVES_1
#undef RNN_OPS_HALVES_2
#undef RNN_OPS_HALVES_3

template <typename T>
void TransposeLanes(Block<T>& block) {
  T rows[kLanes<T>][kLanes<T>], columns[kLanes<T>][kLanes<T>];
  std::memcpy(rows, block.packet, sizeof(rows));
  for (int r = 0; r < kLanes<T>; ++r) {
    for (int c = 0; c < kLanes<T>; ++c) columns[c][r] = rows[r][c];
  }
  std::memcpy(block.packet, columns, sizeof(columns));
}
inline void ptranspose(Block<float>& block) { TransposeLanes<float>(block); }
inline void ptranspose(Block<double>& block) { TransposeLanes<double>(block); }

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
