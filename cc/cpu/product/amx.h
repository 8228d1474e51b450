// Sums of products on AMX (Note [AMX]).
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// AMX multiplies multiples of this number of pairs.
constexpr int64_t kAmxDepth = 8;

#if defined(RNN_OPS_ISA_AVX512)

// The sums of NV vectors of columns for at most 16 rows. The sums cover the operands of each run up
// to a multiple of eight. The tile that reads the sums adds the other operands.
template <int NV>
class AmxSums {
 public:
  static int64_t Depth(int64_t run) { return run / kAmxDepth * kAmxDepth; }

  // Computes the sums of rows a[0 .. rows) of pairs. AmxConfigure must have been called for `rows`
  // rows.
  void Multiply(const void* const* a, int rows, const RunsOfK& k, const Pair* b,
                int64_t ldb = NV * kLanes<float>) {
    const int64_t stride = StrideOf(a, rows);
    ForVectors([](auto v) { AmxZero<kAmxSums + decltype(v)::value>(); });
    for (int64_t r = 0; r < k.runs; ++r) {
      const int64_t at = k.a_at + r * k.a_stride;
      const Pair* run_b = b + (k.b_at + r * k.b_stride) * ldb;
      const int64_t depth = Depth(k.run);
      auto step = [&](auto pairs, int64_t done) {
        constexpr bool kWhole = decltype(pairs)::value == kAmxPairs;
        constexpr int kA = kWhole ? kAmxA : kAmxHalfA, kB = kWhole ? kAmxB : kAmxHalfB;
        LoadA<kA, decltype(pairs)::value>(a, rows, at + done, stride);
        const Pair* step_b = run_b + done * ldb;
        ForVectors([&](auto v) {
          AmxLoad<kB>(step_b + v * kLanes<float>, ldb * sizeof(Pair));
          AmxMultiplyAdd<kAmxSums + decltype(v)::value, kA, kB>();
        });
      };
      int64_t done = 0;
      for (; done + kAmxPairs <= depth; done += kAmxPairs) {
        step(std::integral_constant<int, kAmxPairs>(), done);
      }
      if (done < depth) step(std::integral_constant<int, kHalf>(), done);
    }
    ForVectors([&](auto v) {
      AmxStore<kAmxSums + decltype(v)::value>(sums_[0] + v * kLanes<float>, sizeof(sums_[0]));
    });
  }

  // The sums of the rows from `row` on, [NV * V] each.
  const float* at(int64_t row) const { return sums_[row]; }

 private:
  static constexpr int kHalf = kAmxPairs / 2;
  static_assert(kHalf == kAmxDepth);

  template <typename F>
  static EIGEN_ALWAYS_INLINE void ForVectors(F&& fn) {
    fn(std::integral_constant<int, 0>());
    if constexpr (NV > 1) fn(std::integral_constant<int, 1>());
    if constexpr (NV > 2) fn(std::integral_constant<int, 2>());
    if constexpr (NV > 3) fn(std::integral_constant<int, 3>());
  }

  // The bytes from each row to the next; 0: the distances differ.
  static int64_t StrideOf(const void* const* a, int rows) {
    auto bytes = [&](int row) {
      return static_cast<const char*>(a[row + 1]) - static_cast<const char*>(a[row]);
    };
    if (rows == 1) return sizeof(Pair);
    for (int row = 1; row + 1 < rows; ++row) {
      if (bytes(row) != bytes(0)) return 0;
    }
    return bytes(0);
  }

  template <int kTile, int kPairs>
  static EIGEN_ALWAYS_INLINE void LoadA(const void* const* a, int rows, int64_t at,
                                        int64_t stride) {
    auto pairs = [&](int row) { return static_cast<const Pair*>(a[row]) + at; };
    if (stride != 0) return AmxLoad<kTile>(pairs(0), stride);
    alignas(64) Pair copy[kAmxRows][kPairs];
    for (int row = 0; row < rows; ++row) std::memcpy(copy[row], pairs(row), sizeof(copy[row]));
    AmxLoad<kTile>(copy, sizeof(copy[0]));
  }

  alignas(64) float sums_[kAmxRows][NV * kLanes<float>];
};

// Configures and releases the AMX tiles of this thread, for blocks of `rows` rows.
class AmxInUse {
 public:
  explicit AmxInUse(int64_t rows) { AmxConfigure(AmxSizes(static_cast<int>(rows))); }
  ~AmxInUse() { AmxRelease(); }
  AmxInUse(const AmxInUse&) = delete;
  AmxInUse& operator=(const AmxInUse&) = delete;
};

#endif

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
