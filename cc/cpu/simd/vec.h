// The vector primitives of every kernel: Eigen's packets with the width of the instruction set.
//
// Note [Eigen]
// Packets are internal to Eigen and may change with the next TensorFlow. So only this file names
// Eigen::internal, and it uses only the following parts:
//   - the packets of float and double with the full width of the instruction set, and PacketBlock
//   - ploadu, pstoreu, pset1, padd, psub, pmul, pmadd (one rounding if the machine has FMA)
//   - pmin and pmax that propagate NaN, pcmp_lt, pcmp_le, pabs, pand, pselect, ptranspose
//   - ptanh and scalar_logistic_op
//   - predux and predux_max, the sum and the maximum of a packet
//   - plogical_shift_left and preinterpret of the integers of a packet
// tests/package/wheel/test_kernel_eigen.py checks that the Eigen of a TensorFlow has these parts.
#pragma once

#include <cstdint>
#include <type_traits>

#include "Eigen/Core"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

#if defined(RNN_OPS_EMULATE) && defined(RNN_OPS_ISA_AVX512)

struct __m512;
struct __m512d;
template <typename T>
using Packet = std::conditional_t<std::is_same_v<T, float>, __m512, __m512d>;
// V: the number of elements of one vector.
template <typename T>
constexpr int kLanes = 64 / sizeof(T);

#else

template <typename T>
using Packet = typename Eigen::internal::packet_traits<T>::type;
// V: the number of elements of one vector.
template <typename T>
constexpr int kLanes = Eigen::internal::unpacket_traits<Packet<T>>::size;

#endif

#if defined(RNN_OPS_ISA_AVX512) || defined(__aarch64__)
constexpr int kVectorRegisters = 32;
#else
constexpr int kVectorRegisters = 16;
#endif

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> Load(const T* p) {
  return Eigen::internal::ploadu<Packet<T>>(p);
}

template <typename T>
EIGEN_ALWAYS_INLINE void Store(T* p, const Packet<T>& v) {
  Eigen::internal::pstoreu(p, v);
}

template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> Set(T value) {
  return Eigen::internal::pset1<Packet<T>>(value);
}

using Eigen::internal::padd;
using Eigen::internal::pdiv;
using Eigen::internal::pmadd;
using Eigen::internal::pmul;
using Eigen::internal::psub;

// The maximum and the minimum of each lane; NaN if either value is NaN.
template <typename P>
EIGEN_ALWAYS_INLINE P Max(const P& a, const P& b) {
  return Eigen::internal::pmax<Eigen::PropagateNaN>(a, b);
}
template <typename P>
EIGEN_ALWAYS_INLINE P Min(const P& a, const P& b) {
  return Eigen::internal::pmin<Eigen::PropagateNaN>(a, b);
}

template <typename P>
EIGEN_ALWAYS_INLINE P Abs(const P& a) {
  return Eigen::internal::pabs(a);
}

template <typename P>
EIGEN_ALWAYS_INLINE auto SumOfLanes(const P& a) {
  return Eigen::internal::predux(a);
}

// It may be another element if one is NaN.
template <typename P>
EIGEN_ALWAYS_INLINE auto LargestOfLanes(const P& a) {
  return Eigen::internal::predux_max(a);
}

// Masks for Select.
template <typename P>
EIGEN_ALWAYS_INLINE P Less(const P& a, const P& b) {
  return Eigen::internal::pcmp_lt(a, b);
}
template <typename P>
EIGEN_ALWAYS_INLINE P LessOrEqual(const P& a, const P& b) {
  return Eigen::internal::pcmp_le(a, b);
}
template <typename P>
EIGEN_ALWAYS_INLINE P And(const P& a, const P& b) {
  return Eigen::internal::pand(a, b);
}
template <typename P>
EIGEN_ALWAYS_INLINE P Select(const P& mask, const P& yes, const P& no) {
  return Eigen::internal::pselect(mask, yes, no);
}

// Eigen's approximations of 1 / (1 + exp(-x)) and tanh(x).
template <typename T, typename P>
EIGEN_ALWAYS_INLINE P EigenLogistic(const P& x) {
  return Eigen::internal::scalar_logistic_op<T>().packetOp(x);
}
template <typename P>
EIGEN_ALWAYS_INLINE P EigenTanh(const P& x) {
  return Eigen::internal::ptanh(x);
}

// The float with the lowest bits of x as its exponent.
template <typename P>
EIGEN_ALWAYS_INLINE P PowerOfTwo(const P& x) {
  using Integers = typename Eigen::internal::unpacket_traits<P>::integer_packet;
  return Eigen::internal::preinterpret<P>(
      Eigen::internal::plogical_shift_left<23>(Eigen::internal::preinterpret<Integers>(x)));
}

// V vectors block.packet[r]; ptranspose(block) transposes them.
template <typename T>
using Block = Eigen::internal::PacketBlock<Packet<T>, kLanes<T>>;
using Eigen::internal::ptranspose;

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#if defined(RNN_OPS_EMULATE) && defined(RNN_OPS_ISA_AVX512)
#include "tests/cc/cpu/simd/avx512_emulated.h"
#endif

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Access to the first n lanes, for n < V. n may be negative, which means 0.
//
// WHY masks: the AVX-512 object is a sixth smaller than with copies on the stack, and a product
// whose columns end in a tail loads it for every k. The address sanitizer of GCC does not check
// masked accesses, so its builds use the copies.
#if defined(RNN_OPS_ISA_AVX512) && !defined(__SANITIZE_ADDRESS__)

inline uint32_t MaskOfTail(int64_t n) { return n <= 0 ? 0 : (1u << n) - 1; }

EIGEN_ALWAYS_INLINE Packet<float> LoadTail(const float* p, int64_t n) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(MaskOfTail(n)), p);
}
EIGEN_ALWAYS_INLINE Packet<double> LoadTail(const double* p, int64_t n) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(MaskOfTail(n)), p);
}
EIGEN_ALWAYS_INLINE void StoreTail(float* p, const Packet<float>& v, int64_t n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>(MaskOfTail(n)), v);
}
EIGEN_ALWAYS_INLINE void StoreTail(double* p, const Packet<double>& v, int64_t n) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>(MaskOfTail(n)), v);
}
template <typename T>
Packet<T> KeepTail(const Packet<T>& v, int64_t n);
template <>
EIGEN_ALWAYS_INLINE Packet<float> KeepTail<float>(const Packet<float>& v, int64_t n) {
  return _mm512_maskz_mov_ps(static_cast<__mmask16>(MaskOfTail(n)), v);
}
template <>
EIGEN_ALWAYS_INLINE Packet<double> KeepTail<double>(const Packet<double>& v, int64_t n) {
  return _mm512_maskz_mov_pd(static_cast<__mmask8>(MaskOfTail(n)), v);
}

#elif defined(RNN_OPS_ISA_AVX2) && !defined(__SANITIZE_ADDRESS__)

// All bits in the first n lanes of `Bytes` bytes.
template <int Bytes>
EIGEN_ALWAYS_INLINE __m256i MaskOfTail(int64_t n) {
  alignas(64) static constexpr int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  const int64_t first = n <= 0 ? 8 : 8 - n * (Bytes / 4);
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + first));
}

EIGEN_ALWAYS_INLINE __m256 LoadTail(const float* p, int64_t n) {
  return _mm256_maskload_ps(p, MaskOfTail<4>(n));
}
EIGEN_ALWAYS_INLINE __m256d LoadTail(const double* p, int64_t n) {
  return _mm256_maskload_pd(p, MaskOfTail<8>(n));
}
// WHY no masked stores: they take tens of cycles on AMD CPUs.
EIGEN_ALWAYS_INLINE void StoreTail(double* p, const __m256d& v, int64_t n) {
  if (n <= 0) return;
  __m128d rest = _mm256_castpd256_pd128(v);
  if (n & 2) {
    _mm_storeu_pd(p, rest);
    rest = _mm256_extractf128_pd(v, 1);
  }
  if (n & 1) _mm_store_sd(p + (n & 2), rest);
}
EIGEN_ALWAYS_INLINE void StoreTail(float* p, const __m256& v, int64_t n) {
  if (n <= 0) return;
  __m128 rest = _mm256_castps256_ps128(v);
  if (n & 4) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(v, 1);
  }
  if (n & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p + (n & 4)), rest);
    rest = _mm_movehl_ps(rest, rest);
  }
  if (n & 1) _mm_store_ss(p + (n & 6), rest);
}
template <typename T>
Packet<T> KeepTail(const Packet<T>& v, int64_t n);
template <>
EIGEN_ALWAYS_INLINE __m256 KeepTail<float>(const __m256& v, int64_t n) {
  return _mm256_and_ps(v, _mm256_castsi256_ps(MaskOfTail<4>(n)));
}
template <>
EIGEN_ALWAYS_INLINE __m256d KeepTail<double>(const __m256d& v, int64_t n) {
  return _mm256_and_pd(v, _mm256_castsi256_pd(MaskOfTail<8>(n)));
}

#else

template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> LoadTail(const T* p, int64_t n) {
  alignas(64) T lanes[kLanes<T>] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return Load(lanes);
}
template <typename T>
EIGEN_ALWAYS_INLINE void StoreTail(T* p, const Packet<T>& v, int64_t n) {
  alignas(64) T lanes[kLanes<T>];
  Store(lanes, v);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> KeepTail(const Packet<T>& v, int64_t n) {
  alignas(64) T lanes[kLanes<T>];
  Store(lanes, v);
  return LoadTail(lanes, n);
}

#endif

// Loads the first n lanes from memory; the other lanes are zeros. No element beyond p[n - 1] is
// read.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> LoadFirst(const T* p, int64_t n) {
  return n >= kLanes<T> ? Load(p) : LoadTail(p, n);
}

template <typename T>
EIGEN_ALWAYS_INLINE void StoreFirst(T* p, const Packet<T>& v, int64_t n) {
  if (n >= kLanes<T>) {
    Store(p, v);
  } else {
    StoreTail(p, v, n);
  }
}

// v with zeros in the lanes from n on.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> KeepFirst(const Packet<T>& v, int64_t n) {
  return n >= kLanes<T> ? v : KeepTail<T>(v, n);
}

// dst[c * dst_stride + r] = src[r * src_stride + c] for r, c < V. Accesses all elements of both
// blocks.
template <typename T>
EIGEN_ALWAYS_INLINE void TransposeBlock(const T* src, int64_t src_stride, T* dst,
                                        int64_t dst_stride) {
  Block<T> block;
  for (int r = 0; r < kLanes<T>; ++r) block.packet[r] = Load(src + r * src_stride);
  ptranspose(block);
  for (int c = 0; c < kLanes<T>; ++c) Store(dst + c * dst_stride, block.packet[c]);
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The activation functions on vectors. Their errors are documented in docs/numerics.md.

// 1 / (1 + exp(-x))
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> Sigmoid(const Packet<T>& x) {
  return EigenLogistic<T>(x);
}

#if defined(RNN_OPS_ISA_AVX512) || defined(RNN_OPS_ISA_AVX2)

// Let x = f - r * ln 2 with an integer r. Then exp(-x) = 2^r * exp(-f) with |f| < 0.35, and a
// polynomial of degree 6 has a relative error of 3e-9. Scaling by a power of two overflows to
// infinity, which is correct. NaN passes through both bounds.
template <>
EIGEN_ALWAYS_INLINE Packet<float> Sigmoid<float>(const Packet<float>& x) {
  const auto set = [](float value) { return Set<float>(value); };
  const Packet<float> per_log2 = set(-1.44269504f);
  // Above the upper bound the result is 1. Below the lower bound the result differs from 0 by less
  // than the smallest normal number.
#if defined(RNN_OPS_ISA_AVX512)
  const __m512 bounded = _mm512_max_ps(set(-104.0f), _mm512_min_ps(set(18.0f), x));
  const __m512 r =
      _mm512_roundscale_ps(pmul(bounded, per_log2), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  const __m256 bounded = _mm256_max_ps(set(-89.0f), _mm256_min_ps(set(18.0f), x));
  // The sum has r + 127 in its lowest bits, which a shift moves to where the exponent is. 2^128 is
  // infinity.
  const __m256 magic = set(0x1.8p23f + 127);
  const __m256 sum = pmadd(bounded, per_log2, magic);
  const __m256 r = psub(sum, magic);
  const __m256 power = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(sum), 23));
#endif
  // ln 2 in two parts. The first part has few bits, so its product with r is exact.
  Packet<float> f = pmadd(r, set(0.693359375f), bounded);
  f = pmadd(r, set(-2.12194440e-4f), f);
  Packet<float> p = set(1.381422160e-3f);
  p = pmadd(p, f, set(-8.368899114e-3f));
  p = pmadd(p, f, set(4.166840389e-2f));
  p = pmadd(p, f, set(-1.666651964e-1f));
  p = pmadd(p, f, set(4.999999404e-1f));
  p = pmadd(p, f, set(-1.0f));
  p = pmadd(p, f, set(1.0f));
#if defined(RNN_OPS_ISA_AVX512)
  const __m512 exp = _mm512_scalef_ps(p, r);
#else
  const __m256 exp = pmul(p, power);
#endif
  return pdiv(set(1.0f), padd(set(1.0f), exp));
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
