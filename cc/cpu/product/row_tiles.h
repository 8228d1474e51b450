// The row tiles of a product, and the part of their sums that AMX computes before (Note [AMX]).
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

// The K of a product: pieces of the rows of A and of the rows of B's panels.
//
//   row of A    | a_at |## run ##|    |## run ##|    |## run ##| ...
//                      <- a_stride ->
//   rows of B   | b_at |## run ##|   |## run ##|   |## run ##| ...     b_depth in total
//                      <- b_stride ->
struct RunsOfK {
  int64_t run;   // number of operands in a run
  int64_t runs;  // number of runs
  int64_t a_at;
  int64_t a_stride;
  int64_t b_at;
  int64_t b_stride;
  int64_t b_depth;

  // The whole rows of A and the whole panels of B.
  static constexpr RunsOfK Dense(int64_t depth) { return {depth, 1, 0, 0, 0, depth, depth}; }
  // Runs of the rows of A that fill the panels of B.
  static constexpr RunsOfK Pieces(int64_t run, int64_t runs, int64_t a_at, int64_t a_stride) {
    return {run, runs, a_at, a_stride, 0, run, run * runs};
  }

  // `count` operands of the only run, beginning at operand `first`.
  RunsOfK PartOfRun(int64_t first, int64_t count) const {
    return {count, 1, a_at + first, a_stride, b_at + first, b_stride, b_depth};
  }
  // `count` runs, beginning at run `first`.
  RunsOfK PartOfRuns(int64_t first, int64_t count) const {
    return {run,      count,  a_at + first * a_stride, a_stride, b_at + first * b_stride,
            b_stride, b_depth};
  }
};

// A block of K of one panel. The block stays in the cache while the row tiles use it.
template <typename E>
struct PanelBlock {
  int64_t panel;
  const E* b;          // data of the panel
  RunsOfK k;           // the K of the block
  int64_t vector = 0;  // index of the panel's first vector in all columns
};

// No partial sums were computed before the tile (no AMX).
struct NothingDone {
  static constexpr int64_t Depth(int64_t) { return 0; }
  template <typename Acc>
  EIGEN_ALWAYS_INLINE void AddTo(Acc&) const {}
};

// All row tiles of a product whose panels have NV vectors.
template <typename E, int NV, bool Gated>
class RowTiles {
 public:
  explicit RowTiles(int64_t rows) : rows_(rows) {}

  // Calls fn(first row, number of rows as a constant, its partial sums) for each tile of rows of A.
  template <typename F>
  EIGEN_ALWAYS_INLINE void ForEach(const E* const*, const PanelBlock<E>&, F&& fn) {
    ForRowTiles<kTileRows<NV>>(rows_, [&](int64_t i, auto m) { fn(i, m, NothingDone()); });
  }

 private:
  int64_t rows_;
};

#if defined(RNN_OPS_ISA_AVX512)

// The sums of NV vectors of columns for at most 16 rows. The sums cover the operands of each run up
// to a multiple of eight. A register tile adds the other operands.
template <int NV>
class AmxSums {
 public:
  static int64_t Depth(int64_t run) { return run / kHalf * kHalf; }

  // Computes the sums of rows a[0 .. rows). AmxConfigure must have been called for `rows` rows.
  void Multiply(const Pair* const* a, int rows, const RunsOfK& k, const Pair* b,
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

  // Adds the sums of M rows of the block, beginning at `row`.
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

  // The bytes from each row to the next; 0: the distances differ.
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

// The partial sums of a register tile. `row`: the tile's first row in the block.
template <int NV>
struct AmxDone {
  const AmxSums<NV>& sums;
  int64_t row;

  static int64_t Depth(int64_t run) { return AmxSums<NV>::Depth(run); }
  template <typename Acc>
  EIGEN_ALWAYS_INLINE void AddTo(Acc& acc) const {
    sums.AddTo(row, acc);
  }
};

// Configures and releases the AMX tiles of this thread, for blocks of `rows` rows.
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
  void ForEach(const Pair* const* a, const PanelBlock<Pair>& block, F&& fn) {
    if (!amx_) {
      ForRowTiles<kTileRows<NV>>(rows_, [&](int64_t i, auto m) { fn(i, m, NothingDone()); });
      return;
    }
    AmxSums<NV> sums;
    for (int64_t row = 0; row < rows_; row += block_) {
      const int64_t end = std::min(rows_, row + block_);
      // All blocks have the same size, so the last block may overlap the block before it.
      const int64_t first = end - block_;
      sums.Multiply(a + first, static_cast<int>(block_), block.k, block.b);
      ForRowTiles<kTileRows<NV>>(end - row, [&](int64_t i, auto m) {
        fn(row + i, m, AmxDone<NV>{sums, row + i - first});
      });
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
