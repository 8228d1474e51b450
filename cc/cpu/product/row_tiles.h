// The row tiles of a product, and the part of their sums that AMX computes before (Note [AMX]).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "cc/cpu/product/amx.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// At most kTileRows<NV> rows of a product.
struct RowTile {
  int64_t row;        // the first row
  int rows;           // number of rows
  const float* done;  // [rows][NV * V] the sums that AMX has computed; null: no sums
};

// The number of operands of a run that RowTile::done covers.
template <typename E>
int64_t DoneDepth([[maybe_unused]] const RowTile& tile, [[maybe_unused]] int64_t run) {
  if constexpr (std::is_same_v<E, Pair>) {
    if (tile.done != nullptr) return run / kAmxDepth * kAmxDepth;
  }
  return 0;
}

// Adds the sums of row m of a tile, if AMX has computed them.
template <int NV>
EIGEN_ALWAYS_INLINE void AddDone(const RowTile& tile, int m, Packet<float> (&acc)[NV]) {
  if (tile.done == nullptr) return;
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) {
    acc[v] = padd(acc[v], Load(tile.done + (m * NV + v) * kLanes<float>));
  }
}

// All row tiles of a product on operands E whose panels have NV vectors.
template <typename E, int NV>
class RowTiles {
 public:
  explicit RowTiles(int64_t rows) : rows_(rows) {}

  // Calls fn(tile) for all tiles of rows of A.
  template <typename F>
  EIGEN_ALWAYS_INLINE void ForEach(const void* const*, const PanelBlock<E>&, F&& fn) const {
    ForRowTiles<kTileRows<NV>>(rows_,
                               [&](int64_t row, int size) { fn(RowTile{row, size, nullptr}); });
  }

 private:
  int64_t rows_;
};

#if defined(RNN_OPS_ISA_AVX512)

template <int NV>
class RowTiles<Pair, NV> {
 public:
  explicit RowTiles(int64_t rows)
      : rows_(rows), block_(CeilDiv(rows, std::max<int64_t>(1, CeilDiv(rows, kAmxRows)))) {
    if (rows > 0 && CpuPairUnit() == PairUnit::kAmx) amx_.emplace(block_);
  }

  template <typename F>
  void ForEach(const void* const* a, const PanelBlock<Pair>& block, F&& fn) const {
    if (!amx_) {
      ForRowTiles<kTileRows<NV>>(rows_,
                                 [&](int64_t row, int size) { fn(RowTile{row, size, nullptr}); });
      return;
    }
    AmxSums<NV> sums;
    for (int64_t row = 0; row < rows_; row += block_) {
      const int64_t end = std::min(rows_, row + block_);
      // All blocks have the same size, so the last block may overlap the block before it.
      const int64_t first = end - block_;
      sums.Multiply(a + first, static_cast<int>(block_), block.k, block.b);
      ForRowTiles<kTileRows<NV>>(end - row, [&](int64_t i, int size) {
        fn(RowTile{row + i, size, sums.at(row + i - first)});
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
