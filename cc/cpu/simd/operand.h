// The operands of a matrix product: the type of the arithmetic, pairs of bfloat16, or quads of
// int8. A pair or a quad is a group of values of consecutive k.
//
// Note [Pairs]
// AVX512_BF16 has one instruction that multiplies two neighbours of A with two of B and adds both
// products to a float32. On some CPUs this doubles the rate of float32. So A and B of a product are
// arrays of Pair. A Pair is 32 bits that contain two consecutive k. Tiles, panels and row pointers
// work as for float, with half as many k. If K is odd, A and B are padded with zeros.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cc/core/check.h"
#include "cc/core/op/dtype.h"
#include "cc/cpu/simd/bf16.h"
#include "cc/cpu/simd/int8.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Two bfloat16 values. `first` is the lower half in memory.
struct Pair {
  uint16_t first;
  uint16_t second;
};

// E is T in most products. kPerOperand<E>: the number of values of k in one E.
template <typename E>
struct Operand {
  using Vector = Packet<E>;
  static EIGEN_ALWAYS_INLINE Vector Load(const E* p) { return RNN_OPS_ISA_NAMESPACE::Load(p); }
  static EIGEN_ALWAYS_INLINE Vector Set(E value) { return RNN_OPS_ISA_NAMESPACE::Set<E>(value); }
  static EIGEN_ALWAYS_INLINE Vector MultiplyAdd(const Vector& a, const Vector& b,
                                                const Vector& sum) {
    return pmadd(a, b, sum);
  }
};

template <typename E>
constexpr int kPerOperand = 1;
template <>
constexpr int kPerOperand<Pair> = 2;
template <>
constexpr int kPerOperand<Quad> = 4;

// The operands in front of the values of k (Note [Quads]).
template <typename E>
constexpr int kHeaderOperands = 0;
template <>
constexpr int kHeaderOperands<Quad> = kQuadHeader;

// The number of whole operands that contain n values of k, with their header.
template <typename E>
constexpr int64_t OperandsOf(int64_t n) {
  return kHeaderOperands<E> + CeilDiv(n, kPerOperand<E>);
}

// The bits of a bfloat16.
using BFloat16Bits = uint16_t;

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

namespace rnn_ops {

template <>
constexpr ElementType kElementType<cpu::RNN_OPS_ISA_NAMESPACE::BFloat16Bits> =
    ElementType::kBFloat16;

}  // namespace rnn_ops

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Whether an operand contains several values.
template <typename E>
constexpr bool kIsGroup = kPerOperand<E> > 1;

// Whether this instruction set can multiply pairs, for an arithmetic in T.
#if defined(RNN_OPS_ISA_AVX512)
template <typename T>
constexpr bool kHasPairs = std::is_same_v<T, float>;
#else
template <typename T>
constexpr bool kHasPairs = false;
#endif

// The operands of the products of a problem. Passes and rows know only this value. The functions
// that make operands and those that multiply them choose the type by it.
enum class OperandType { kExact, kPairs, kQuads };

// Calls fn(an operand of the type) for an arithmetic in T.
template <typename T, typename F>
EIGEN_ALWAYS_INLINE decltype(auto) WithOperand(OperandType type, F&& fn) {
  if constexpr (kHasPairs<T>) {
    if (type == OperandType::kPairs) return fn(Pair());
  }
  if constexpr (std::is_same_v<T, float>) {
    if (type == OperandType::kQuads) return fn(Quad());
  }
  RNN_DCHECK(type == OperandType::kExact);
  return fn(T());
}

// WithOperand for gradients, whose products are never on quads.
template <typename T, typename F>
EIGEN_ALWAYS_INLINE decltype(auto) WithGradientOperand(OperandType type, F&& fn) {
  if constexpr (kHasPairs<T>) {
    if (type == OperandType::kPairs) return fn(Pair());
  }
  RNN_DCHECK(type == OperandType::kExact);
  return fn(T());
}

// kPerOperand, OperandsOf and sizeof of an operand.
constexpr int PerOperand(OperandType type) {
  return type == OperandType::kPairs   ? kPerOperand<Pair>
         : type == OperandType::kQuads ? kPerOperand<Quad>
                                       : 1;
}
constexpr int64_t OperandsOf(OperandType type, int64_t n) {
  return type == OperandType::kPairs   ? OperandsOf<Pair>(n)
         : type == OperandType::kQuads ? OperandsOf<Quad>(n)
                                       : n;
}
template <typename T>
constexpr int64_t OperandBytes(OperandType type) {
  return type == OperandType::kExact ? sizeof(T) : sizeof(Pair);
}
static_assert(sizeof(Pair) == sizeof(Quad));

// Loads the first n values of a tensor in the type of the arithmetic.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> LoadWide(const T* p, int64_t n) {
  return LoadFirst(p, n);
}

// The unit of this CPU that multiplies pairs. AVX512_BF16 and AMX are not part of the AVX-512
// level, so code must check this before it runs any instruction on pairs. On CPUs with AMX the
// vector instruction on pairs is slower than float32 (docs/design/measurements.md, "Products of
// pairs on AMX").
enum class PairUnit { kNone, kVector, kAmx };

#if defined(RNN_OPS_ISA_AVX512)

template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> LoadWide(const BFloat16Bits* p, int64_t n) {
  alignas(32) BFloat16Bits bits[kLanes<float>] = {};
  std::memcpy(bits, p, sizeof(BFloat16Bits) * std::clamp<int64_t>(n, 0, kLanes<float>));
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<__m256i*>(bits)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

inline PairUnit FindPairUnit() {
  if (!CpuHasBf16()) return PairUnit::kNone;
  if (!CpuHasAmx()) return PairUnit::kVector;
  return AskForAmx() ? PairUnit::kAmx : PairUnit::kNone;
}

inline PairUnit CpuPairUnit() {
#if defined(RNN_OPS_EMULATE)
  return FindPairUnit();
#endif
  static std::atomic<int> known{-1};  // cpuid is slow on a virtual machine
  int unit = known.load(std::memory_order_relaxed);
  if (unit < 0) {
    unit = static_cast<int>(FindPairUnit());
    known.store(unit, std::memory_order_relaxed);
  }
  return static_cast<PairUnit>(unit);
}

template <>
struct Operand<Pair> {
  using Vector = __m512i;
  static EIGEN_ALWAYS_INLINE Vector Load(const Pair* p) { return _mm512_loadu_si512(p); }
  static EIGEN_ALWAYS_INLINE Vector Set(Pair value) {
    int bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return _mm512_set1_epi32(bits);
  }
  static EIGEN_ALWAYS_INLINE Packet<float> MultiplyAdd(const Vector& a, const Vector& b,
                                                       const Packet<float>& sum) {
    return MultiplyAddPairs(a, b, sum);
  }
};

// Stores the first n lanes, rounded. n may be negative, which means 0. The address sanitizer gets a
// copy, as in StoreTail.
EIGEN_ALWAYS_INLINE void StoreFirst(BFloat16Bits* p, const Packet<float>& v, int64_t n) {
  const __m256i rounded = RoundToBFloat16(v);
  // WHY not a mask for whole vectors too: Zen 4 takes many cycles for a masked store of 16 bits.
  if (n >= kLanes<float>) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), rounded);
#if defined(__SANITIZE_ADDRESS__)
  std::memcpy(p, &rounded, sizeof(BFloat16Bits) * std::max<int64_t>(n, 0));
#else
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>(MaskOfTail(n)), rounded);
#endif
}

EIGEN_ALWAYS_INLINE __m256i LoadBits(const BFloat16Bits* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

// Rounds elements [begin, end) of a row to operands. `begin` is a multiple of V. The elements from
// `end` to a multiple of V become zeros.
inline void RoundRow(const float* row, int64_t begin, int64_t end, Pair* out) {
  RNN_DCHECK(begin % kLanes<float> == 0);
  auto* bits = reinterpret_cast<BFloat16Bits*>(out);
  for (int64_t k = begin; k < end; k += kLanes<float>) {
    StoreFirst(bits + k, LoadFirst(row + k, end - k), kLanes<float>);
  }
}

// Lane i of the result is (first[i], second[i]).
EIGEN_ALWAYS_INLINE __m512i Interleave(const __m256i& first, const __m256i& second) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(first),
                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
}

EIGEN_ALWAYS_INLINE void StorePairs(Pair* p, const Packet<float>& first,
                                    const Packet<float>& second) {
  _mm512_storeu_si512(p, Interleave(RoundToBFloat16(first), RoundToBFloat16(second)));
}

#else

constexpr PairUnit CpuPairUnit() { return PairUnit::kNone; }

#endif

template <typename E>
constexpr int kOperandLanes = kLanes<E>;
template <>
constexpr int kOperandLanes<Pair> = kLanes<float>;
template <>
constexpr int kOperandLanes<Quad> = kLanes<float>;

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
