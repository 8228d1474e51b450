// The operands of a matrix product: the type of the arithmetic, pairs of bfloat16, or quads of
// int8.
//
// Note [Pairs]
// AVX512_BF16 has one instruction that multiplies two neighbours of A with two of B and adds both
// products to a float32. On some CPUs this doubles the rate of float32. So A and B of a product are
// arrays of Pair. A Pair is 32 bits that contain two consecutive k. Tiles, panels and row pointers
// work as for float, with half as many k. If K is odd, A and B are padded with zeros.
#ifndef TF_RNN_OPS_CC_CPU_SIMD_OPERAND_H_
#define TF_RNN_OPS_CC_CPU_SIMD_OPERAND_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cc/core/check.h"
#include "cc/core/network/dtype.h"
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

// Stores a vector at element `at` of an array of operands. `at` is a multiple of V.
template <typename T>
EIGEN_ALWAYS_INLINE void StoreOperands(T* base, int64_t at, const Packet<T>& v) {
  RNN_DCHECK(at % kLanes<T> == 0);
  Store(base + at, v);
}

// The bits of a bfloat16.
using BFloat16Bits = uint16_t;

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

namespace rnn_ops {

template <>
constexpr ElementType kElementType<cpu::RNN_OPS_ISA_NAMESPACE::BFloat16Bits> =
    ElementType::kBFloat16;
// A row of pairs is a row of bfloat16 values.
template <>
constexpr ElementType kElementType<cpu::RNN_OPS_ISA_NAMESPACE::Pair> = ElementType::kBFloat16;

}  // namespace rnn_ops

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The properties of the operands E of products in T.
template <typename T, typename E>
struct Operands {
  // Products read rows of T themselves, not copies.
  static constexpr bool kExact = std::is_same_v<T, E>;
  // Weights and rows are rounded to bfloat16 for products.
  static constexpr bool kRounded = std::is_same_v<E, Pair>;
  // Weights are int8, and rows are quantized for products.
  static constexpr bool kQuantized = std::is_same_v<E, Quad>;
  // Rare modes have kernels for exact operands only (UsesPairs, kQuantizedLayerRnn): masks for each
  // gate, unpacked weights, skip_input, peepholes, zoneout and layer normalization.
  static constexpr bool kRareModes = kExact;
  // A step may have a second product.
  static constexpr bool kSecondProduct = !kRounded;
  // Whether rows of n elements in the tensors' type can be read as rows of operands without a copy.
  static constexpr bool AreRows(int64_t n) { return kRounded && n % kPerOperand<E> == 0; }
};

// The type of the tensors that weights are packed from.
template <typename T, typename E>
using WeightOf = std::conditional_t<Operands<T, E>::kQuantized, int8_t,
                                    std::conditional_t<Operands<T, E>::kRounded, BFloat16Bits, T>>;

// The type of the tensors that rows of h may be written to.
template <typename T, typename E>
using TensorOf = std::conditional_t<Operands<T, E>::kRounded, BFloat16Bits, T>;

// Loads the first n values of a tensor in the type of the arithmetic.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> LoadWide(const T* p, int64_t n) {
  return LoadFirst(p, n);
}

// The unit of this CPU that multiplies pairs. AVX512_BF16 and AMX are not part of the AVX-512
// level, so code must check this before it runs any instruction on pairs. On CPUs with AMX the
// vector instruction on pairs is slower than float32 (docs/history/performance.md, "16 cores").
enum class PairUnit { kNone, kVector, kAmx };

#if defined(RNN_OPS_ISA_AVX512)

template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> LoadWide(const BFloat16Bits* p, int64_t n) {
  alignas(32) BFloat16Bits bits[kLanes<float>] = {};
  std::memcpy(bits, p, sizeof(BFloat16Bits) * std::clamp<int64_t>(n, 0, kLanes<float>));
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<__m256i*>(bits)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

constexpr bool kHasPairs = true;

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

EIGEN_ALWAYS_INLINE void StoreOperands(Pair* base, int64_t at, const Packet<float>& v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(reinterpret_cast<uint16_t*>(base) + at),
                      RoundToBFloat16(v));
}

// Stores the first n lanes, rounded. n may be negative, which means 0. The address sanitizer gets a
// copy, as in StoreTail.
EIGEN_ALWAYS_INLINE void StoreFirst(BFloat16Bits* p, const Packet<float>& v, int64_t n) {
#if defined(__SANITIZE_ADDRESS__)
  const __m256i lanes = RoundToBFloat16(v);
  std::memcpy(p, &lanes, sizeof(BFloat16Bits) * std::clamp<int64_t>(n, 0, kLanes<float>));
#else
  const auto lanes = static_cast<__mmask16>(n >= 16 ? 0xffff : MaskOfTail(n));
  _mm256_mask_storeu_epi16(p, lanes, RoundToBFloat16(v));
#endif
}

EIGEN_ALWAYS_INLINE __m256i LoadBits(const BFloat16Bits* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
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

constexpr bool kHasPairs = false;
constexpr PairUnit CpuPairUnit() { return PairUnit::kNone; }

#endif

template <typename E>
constexpr int kOperandLanes = kLanes<E>;
template <>
constexpr int kOperandLanes<Pair> = kLanes<float>;
template <>
constexpr int kOperandLanes<Quad> = kLanes<float>;

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_SIMD_OPERAND_H_
