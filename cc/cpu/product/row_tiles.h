// The row tiles of a product, and what AMX does of them beforehand (Note [AMX]).
#ifndef TF_RNN_OPS_CC_CPU_PRODUCT_ROW_TILES_H_
#define TF_RNN_OPS_CC_CPU_PRODUCT_ROW_TILES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The K of a product: `runs` runs of `run` operands, which begin so far apart.
struct RunsOfK {
  int64_t runs;
  int64_t run;
  int64_t a_stride;  // operands of A
  int64_t b_stride;  // rows of B
};

// What a tile finds done of its products: nothing.
struct NothingDone {
  static constexpr int64_t Depth(int64_t) { return 0; }
  template <typename Acc>
  EIGEN_ALWAYS_INLINE void AddTo(int64_t, Acc&) const {}
};

// All row tiles of a product whose panels have NV vectors.
template <typename E, int NV, bool Gated>
class RowTiles {
 public:
  explicit RowTiles(int64_t rows) : rows_(rows) {}

  // fn(first row, number of rows as a constant, what is done, the first row's number in it) for
  // each tile on a panel. A's rows begin at operand `a_at`, and B's at `b`.
  template <typename F>
  EIGEN_ALWAYS_INLINE void ForEach(const E* const*, int64_t, const RunsOfK&, const E*, F&& fn) {
    ForRowTiles<kTileRows<NV>>(rows_, [&](int64_t i, auto m) { fn(i, m, NothingDone(), 0); });
  }

 private:
  int64_t rows_;
};

#if defined(RNN_OPS_ISA_AVX512)

// Sums of NV vectors of columns for at most 16 rows, over the whole eights of each run: a register
// tile adds the rest.
template <int NV>
class AmxSums {
 public:
  static int64_t Depth(int64_t run) { return run / kHalf * kHalf; }

  // Of rows a[0 .. rows), whose number the tiles have been given, from operand `a_at` on.
  void Multiply(const Pair* const* a, int rows, int64_t a_at, const RunsOfK& k, const Pair* b,
                int64_t ldb = NV * kLanes<float>) {
    const int64_t stride = StrideOf(a, rows);
    ForVectors([](auto v) { AmxZero<kAmxSums + decltype(v)::value>(); });
    for (int64_t r = 0; r < k.runs; ++r) {
      const int64_t at = a_at + r * k.a_stride;
      const Pair* run_b = b + r * k.b_stride * ldb;
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

  // Adds the sums of M rows of the block, from `row` on.
  template <int M>
  EIGEN_ALWAYS_INLINE void AddTo(int64_t row, Packet<float> (&acc)[M][NV]) const {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        acc[m][v] = padd(acc[m][v], Load(sums_[row + m] + v * kLanes<float>));
      }
    }
  }

 private:
  static constexpr int kHalf = kAmxPairs / 2;

  template <typename F>
  static EIGEN_ALWAYS_INLINE void ForVectors(F&& fn) {
    fn(std::integral_constant<int, 0>());
    if constexpr (NV > 1) fn(std::integral_constant<int, 1>());
    if constexpr (NV > 2) fn(std::integral_constant<int, 2>());
    if constexpr (NV > 3) fn(std::integral_constant<int, 3>());
  }

  // Bytes from each row to the next; 0: not the same for all.
  static int64_t StrideOf(const Pair* const* a, int rows) {
    auto bytes = [&](int row) {
      return reinterpret_cast<const char*>(a[row + 1]) - reinterpret_cast<const char*>(a[row]);
    };
    if (rows == 1) return sizeof(Pair);
    for (int row = 1; row + 1 < rows; ++row) {
      if (bytes(row) != bytes(0)) return 0;
    }
    return bytes(0);
  }

  template <int kTile, int kPairs>
  static EIGEN_ALWAYS_INLINE void LoadA(const Pair* const* a, int rows, int64_t at,
                                        int64_t stride) {
    if (stride != 0) return AmxLoad<kTile>(a[0] + at, stride);
    alignas(64) Pair copy[kAmxRows][kPairs];
    for (int row = 0; row < rows; ++row) std::memcpy(copy[row], a[row] + at, sizeof(copy[row]));
    AmxLoad<kTile>(copy, sizeof(copy[0]));
  }

  alignas(64) float sums_[kAmxRows][NV * kLanes<float>];
};

// The tiles of this thread, for blocks of so many rows.
class AmxInUse {
 public:
  explicit AmxInUse(int64_t rows) { AmxConfigure(AmxSizes(static_cast<int>(rows))); }
  ~AmxInUse() { AmxRelease(); }
  AmxInUse(const AmxInUse&) = delete;
  AmxInUse& operator=(const AmxInUse&) = delete;
};

template <int NV>
class RowTiles<Pair, NV, /*Gated=*/false> {
 public:
  explicit RowTiles(int64_t rows)
      : rows_(rows), block_(CeilDiv(rows, std::max<int64_t>(1, CeilDiv(rows, kAmxRows)))) {
    if (rows > 0 && CpuPairUnit() == PairUnit::kAmx) amx_.emplace(block_);
  }

  template <typename F>
  void ForEach(const Pair* const* a, int64_t a_at, const RunsOfK& k, const Pair* b, F&& fn) {
    if (!amx_) {
      ForRowTiles<kTileRows<NV>>(rows_, [&](int64_t i, auto m) { fn(i, m, NothingDone(), 0); });
      return;
    }
    AmxSums<NV> sums;
    for (int64_t row = 0; row < rows_; row += block_) {
      const int64_t end = std::min(rows_, row + block_);
      // Blocks are equally large, so the last one may begin with rows of the one before.
      const int64_t first = end - block_;
      sums.Multiply(a + first, static_cast<int>(block_), a_at, k, b);
      ForRowTiles<kTileRows<NV>>(end - row,
                                 [&](int64_t i, auto m) { fn(row + i, m, sums, row + i - first); });
    }
  }

 private:
  int64_t rows_;
  int64_t block_;  // at most 16
  std::optional<AmxInUse> amx_;
};

#endif

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PRODUCT_ROW_TILES_H_
