// Products of 8-bit integers, and the quantization of rows.
//
// Note [Quads]
// Weights are int8 with a scale for each column. A row of x or h is multiplied by 127 / max|row|
// and rounded to int8, so it has a factor of its own, and the result of a row never depends on the
// other rows. Sums are int32 and exact, so their order does not matter. One operand of the product
// has four consecutive values of k. Two operands in front of them are a header:
//
//                    operand 0           operand 1                  then
//   a row of A       the row's factor    the sum of its integers    quads
//   a panel of B     column scales       not used                   quads
//
// C += (sum * scale) * factor at the end of a tile. K is not divided, so that a tile sees the
// header and the whole sum; kMaxQuantizedSize bounds the sum.
//
// The instruction that adds four products at once (VNNI) multiplies unsigned by signed integers. So
// the weights get an offset of 128, which 128 times the sum of the row's integers removes again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cc/cpu/simd/vec.h"

#if defined(RNN_OPS_EMULATE)
#include "tests/cc/cpu/simd/emulated_cpu.h"
#endif
#if defined(RNN_OPS_ISA_AVX2) || defined(RNN_OPS_ISA_AVX512)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Four int8 values of consecutive k.
struct Quad {
  int8_t k[4];
};

// ---- The vector of V int32, and its operations ----

#if defined(__aarch64__)

using Int32s = int32x4_t;
EIGEN_ALWAYS_INLINE Int32s SetInt32s(int32_t value) { return vdupq_n_s32(value); }
EIGEN_ALWAYS_INLINE Int32s AddInt32s(Int32s a, Int32s b) { return vaddq_s32(a, b); }
EIGEN_ALWAYS_INLINE Packet<float> ToFloats(Int32s v) { return vcvtq_f32_s32(v); }
EIGEN_ALWAYS_INLINE Int32s RoundToInt32s(const Packet<float>& v) { return vcvtnq_s32_f32(v); }
EIGEN_ALWAYS_INLINE Int32s LoadQuads(const Quad* p) {
  return vld1q_s32(reinterpret_cast<const int32_t*>(p));
}
EIGEN_ALWAYS_INLINE void StoreInt32s(int32_t* p, Int32s v) { vst1q_s32(p, v); }
// Stores V values of [-128, 127].
EIGEN_ALWAYS_INLINE void StoreInt8s(int8_t* p, Int32s v) {
  const int16x4_t half = vqmovn_s32(v);
  const int8x8_t bytes = vqmovn_s16(vcombine_s16(half, half));
  std::memcpy(p, &bytes, 4);
}

#elif defined(RNN_OPS_ISA_AVX512)

using Int32s = __m512i;
EIGEN_ALWAYS_INLINE Int32s SetInt32s(int32_t value) { return _mm512_set1_epi32(value); }
EIGEN_ALWAYS_INLINE Int32s AddInt32s(Int32s a, Int32s b) { return _mm512_add_epi32(a, b); }
EIGEN_ALWAYS_INLINE Int32s XorInt32s(Int32s a, Int32s b) { return _mm512_xor_si512(a, b); }
EIGEN_ALWAYS_INLINE Packet<float> ToFloats(Int32s v) { return _mm512_cvtepi32_ps(v); }
EIGEN_ALWAYS_INLINE Int32s RoundToInt32s(const Packet<float>& v) { return _mm512_cvtps_epi32(v); }
EIGEN_ALWAYS_INLINE Int32s LoadQuads(const Quad* p) { return _mm512_loadu_si512(p); }
EIGEN_ALWAYS_INLINE void StoreInt32s(int32_t* p, Int32s v) { _mm512_storeu_si512(p, v); }
EIGEN_ALWAYS_INLINE void StoreInt8s(int8_t* p, Int32s v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(v));
}
// The even and the odd bytes as 16-bit integers, and the sums of two products of these.
EIGEN_ALWAYS_INLINE Int32s EvenBytes(Int32s v) {
  return _mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8);
}
EIGEN_ALWAYS_INLINE Int32s OddBytes(Int32s v) { return _mm512_srai_epi16(v, 8); }
EIGEN_ALWAYS_INLINE Int32s MultiplyInt16s(Int32s a, Int32s b) { return _mm512_madd_epi16(a, b); }

#elif defined(RNN_OPS_ISA_AVX2)

using Int32s = __m256i;
EIGEN_ALWAYS_INLINE Int32s SetInt32s(int32_t value) { return _mm256_set1_epi32(value); }
EIGEN_ALWAYS_INLINE Int32s AddInt32s(Int32s a, Int32s b) { return _mm256_add_epi32(a, b); }
EIGEN_ALWAYS_INLINE Int32s XorInt32s(Int32s a, Int32s b) { return _mm256_xor_si256(a, b); }
EIGEN_ALWAYS_INLINE Packet<float> ToFloats(Int32s v) { return _mm256_cvtepi32_ps(v); }
EIGEN_ALWAYS_INLINE Int32s RoundToInt32s(const Packet<float>& v) { return _mm256_cvtps_epi32(v); }
EIGEN_ALWAYS_INLINE Int32s LoadQuads(const Quad* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
EIGEN_ALWAYS_INLINE void StoreInt32s(int32_t* p, Int32s v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}
EIGEN_ALWAYS_INLINE void StoreInt8s(int8_t* p, Int32s v) {
  const __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(half, half));
}

#else  // SSE2

using Int32s = __m128i;
EIGEN_ALWAYS_INLINE Int32s SetInt32s(int32_t value) { return _mm_set1_epi32(value); }
EIGEN_ALWAYS_INLINE Int32s AddInt32s(Int32s a, Int32s b) { return _mm_add_epi32(a, b); }
EIGEN_ALWAYS_INLINE Packet<float> ToFloats(Int32s v) { return _mm_cvtepi32_ps(v); }
EIGEN_ALWAYS_INLINE Int32s RoundToInt32s(const Packet<float>& v) { return _mm_cvtps_epi32(v); }
EIGEN_ALWAYS_INLINE Int32s LoadQuads(const Quad* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
EIGEN_ALWAYS_INLINE void StoreInt32s(int32_t* p, Int32s v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}
EIGEN_ALWAYS_INLINE void StoreInt8s(int8_t* p, Int32s v) {
  const __m128i half = _mm_packs_epi32(v, v);
  const int32_t bytes = _mm_cvtsi128_si32(_mm_packs_epi16(half, half));
  std::memcpy(p, &bytes, sizeof(bytes));
}
EIGEN_ALWAYS_INLINE Int32s EvenBytes(Int32s v) { return _mm_srai_epi16(_mm_slli_epi16(v, 8), 8); }
EIGEN_ALWAYS_INLINE Int32s OddBytes(Int32s v) { return _mm_srai_epi16(v, 8); }
EIGEN_ALWAYS_INLINE Int32s MultiplyInt16s(Int32s a, Int32s b) { return _mm_madd_epi16(a, b); }

#endif

// V times the same quad.
EIGEN_ALWAYS_INLINE Int32s BroadcastQuad(const Quad* p) {
  int32_t bits;
  std::memcpy(&bits, p, sizeof(bits));
  return SetInt32s(bits);
}

// ---- Units ----
//
// A unit multiplies a quad of a row, A, by a vector of quads of weights, B. The row tiles of a
// panel share B, so a unit prepares it once for all of them. Dot adds the four products of each
// lane.

#if defined(__aarch64__)

struct UnitWithoutDot {
  static constexpr bool kOffset = false;
  using A = int8x16_t;
  using B = int8x16_t;
  static EIGEN_ALWAYS_INLINE A Broadcast(const Quad* p) {
    return vreinterpretq_s8_s32(BroadcastQuad(p));
  }
  static EIGEN_ALWAYS_INLINE B Prepare(const Quad* p) { return vreinterpretq_s8_s32(LoadQuads(p)); }
  // Two products of int8 fit into 16 bits.
  static EIGEN_ALWAYS_INLINE Int32s Dot(Int32s sum, const A& a, const B& b) {
    const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
    const int16x8_t high = vmull_high_s8(a, b);
    return AddInt32s(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
  }
};

struct DotUnit : UnitWithoutDot {
  static EIGEN_ALWAYS_INLINE Int32s Dot(Int32s sum, const A& a, const B& b) {
    // The compiler's own architecture follows, for the instructions behind this one.
    __asm__(".arch armv8.2-a+dotprod\n\tsdot %0.4s, %1.16b, %2.16b\n\t.arch armv8-a"
            : "+w"(sum)
            : "w"(a), "w"(b));
    return sum;
  }
};
inline bool FindDotUnit() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }

#elif defined(RNN_OPS_ISA_AVX2)

// vpmaddubsw multiplies unsigned by signed and adds two products in 16 bits. With the weight's
// absolute value and the row's value with the weight's sign, 128 * 127 * 2 fits: no saturation.
struct UnitWithoutDot {
  static constexpr bool kOffset = false;
  struct Weights {
    Int32s value, magnitude;
  };
  using A = Int32s;
  using B = Weights;
  static EIGEN_ALWAYS_INLINE A Broadcast(const Quad* p) { return BroadcastQuad(p); }
  static EIGEN_ALWAYS_INLINE B Prepare(const Quad* p) {
    const Int32s value = LoadQuads(p);
    return {value, _mm256_abs_epi8(value)};
  }
  static EIGEN_ALWAYS_INLINE Int32s Dot(Int32s sum, const A& a, const B& b) {
    const Int32s pairs = _mm256_maddubs_epi16(b.magnitude, _mm256_sign_epi8(a, b.value));
    return AddInt32s(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

#else

// Products of 16-bit integers.
struct UnitWithoutDot {
  static constexpr bool kOffset = false;
  struct Halves {
    Int32s even, odd;
  };
  using A = Halves;
  using B = Halves;
  static EIGEN_ALWAYS_INLINE Halves Split(Int32s v) { return {EvenBytes(v), OddBytes(v)}; }
  static EIGEN_ALWAYS_INLINE A Broadcast(const Quad* p) { return Split(BroadcastQuad(p)); }
  static EIGEN_ALWAYS_INLINE B Prepare(const Quad* p) { return Split(LoadQuads(p)); }
  static EIGEN_ALWAYS_INLINE Int32s Dot(Int32s sum, const A& a, const B& b) {
    return AddInt32s(sum, AddInt32s(MultiplyInt16s(a.even, b.even), MultiplyInt16s(a.odd, b.odd)));
  }
};

#endif

#if defined(RNN_OPS_ISA_AVX2) || defined(RNN_OPS_ISA_AVX512)

#if defined(RNN_OPS_EMULATE)

inline bool FindDotUnit() { return EmulatedCpuHas(kEmulatedVnni); }
inline Int32s MultiplyUnsignedBySigned(const Int32s& sum, const Int32s& a, const Int32s& b) {
  uint32_t sums[sizeof(Int32s) / 4];
  uint8_t first[sizeof(Int32s)];
  int8_t second[sizeof(Int32s)];
  std::memcpy(sums, &sum, sizeof(sums));
  std::memcpy(first, &a, sizeof(first));
  std::memcpy(second, &b, sizeof(second));
  for (size_t k = 0; k < sizeof(first); ++k)
    sums[k / 4] += static_cast<uint32_t>(first[k] * second[k]);
  Int32s result;
  std::memcpy(&result, sums, sizeof(result));
  return result;
}

#else

inline bool FindDotUnit() {
  unsigned a = 0, b = 0, c = 0, d = 0;
#if defined(RNN_OPS_ISA_AVX512)
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & (1u << 11)) != 0;  // AVX512_VNNI
#else
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1u << 4)) != 0;  // AVX-VNNI
#endif
}

// WHY assembly: an intrinsic needs a compiler flag, which would let the compiler use the
// instruction elsewhere.
EIGEN_ALWAYS_INLINE Int32s MultiplyUnsignedBySigned(Int32s sum, const Int32s& a, const Int32s& b) {
#if defined(RNN_OPS_ISA_AVX512)
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#else
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
#endif
  return sum;
}

#endif

struct DotUnit {
  static constexpr bool kOffset = true;
  using A = Int32s;
  using B = Int32s;
  static EIGEN_ALWAYS_INLINE A Broadcast(const Quad* p) { return BroadcastQuad(p); }
  static EIGEN_ALWAYS_INLINE B Prepare(const Quad* p) {
    return XorInt32s(LoadQuads(p), SetInt32s(static_cast<int32_t>(0x80808080)));
  }
  static EIGEN_ALWAYS_INLINE Int32s Dot(const Int32s& sum, const A& a, const B& b) {
    return MultiplyUnsignedBySigned(sum, b, a);
  }
};

#elif !defined(__aarch64__)

using DotUnit = UnitWithoutDot;
inline bool FindDotUnit() { return false; }

#endif

// Whether the CPU multiplies and adds quads in one instruction, which no level requires.
inline bool CpuHasDotUnit() {
#if defined(RNN_OPS_EMULATE)
  return FindDotUnit();
#endif
  static std::atomic<int> known{-1};  // cpuid is slow on a virtual machine
  int has = known.load(std::memory_order_relaxed);
  if (has < 0) {
    has = FindDotUnit();
    known.store(has, std::memory_order_relaxed);
  }
  return has != 0;
}

// ---- Headers ----

EIGEN_ALWAYS_INLINE float FactorOf(const Quad* row) {
  float factor;
  std::memcpy(&factor, row, sizeof(factor));
  return factor;
}
// The part of a sum that comes from the offset of the weights, negated. It may wrap, as sums do.
EIGEN_ALWAYS_INLINE int32_t OffsetOf(const Quad* row) {
  uint32_t sum;
  std::memcpy(&sum, row + 1, sizeof(sum));
  return static_cast<int32_t>(0u - 128u * sum);
}

constexpr int kQuadHeader = 2;

// The largest absolute value of a row; infinity if a value is not finite.
inline float LargestOf(const float* row, int64_t n) {
  constexpr int V = kLanes<float>;
  Packet<float> largest = Set<float>(0.0f);
  for (int64_t k = 0; k < n; k += V) largest = Max(largest, Abs(LoadFirst(row + k, n - k)));
  // The difference is not a number in a lane that is not finite.
  if (!(SumOfLanes(psub(largest, largest)) == 0.0f)) return std::numeric_limits<float>::infinity();
  return LargestOfLanes(largest);
}

// Writes a row of n values, multiplied by `inverse` and rounded, as a header and quads, up to a
// multiple of V values.
inline void WriteQuads(const float* row, int64_t n, float inverse, float factor, Quad* out) {
  constexpr int V = kLanes<float>;
  auto* values = reinterpret_cast<int8_t*>(out + kQuadHeader);
  Int32s sums = SetInt32s(0);
  for (int64_t k = 0; k < n; k += V) {
    const Int32s rounded = RoundToInt32s(pmul(LoadFirst(row + k, n - k), Set<float>(inverse)));
    sums = AddInt32s(sums, rounded);
    StoreInt8s(values + k, rounded);
  }
  int32_t lanes[V];
  StoreInt32s(lanes, sums);
  uint32_t sum = 0;  // may wrap if a value is not finite
  for (int32_t lane : lanes) sum += static_cast<uint32_t>(lane);
  std::memcpy(out, &factor, sizeof(factor));
  std::memcpy(out + 1, &sum, sizeof(sum));
}

// Quantizes a row of n values. A row that has a value that is not finite gets the factor NaN. A row
// becomes zeros if its factor max|row| / 127 would be subnormal, which the kernels treat as 0.
inline void QuantizeRow(const float* row, int64_t n, Quad* out) {
  constexpr float kSmallest = 127 * std::numeric_limits<float>::min();  // 1.5e-36
  const float largest = LargestOf(row, n);
  const bool finite = largest <= std::numeric_limits<float>::max();
  const float inverse = finite && largest >= kSmallest ? 127 / largest : 0.0f;
  const float factor =
      finite ? (inverse > 0 ? largest / 127 : 0.0f) : std::numeric_limits<float>::quiet_NaN();
  WriteQuads(row, n, inverse, factor, out);
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
