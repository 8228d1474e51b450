// Products of some rows with a panel: register tiles, AMX tiles or int8 quads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "cc/cpu/product/amx.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/int8.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Products of quantized rows and panels of int8 (Note [Quads]).
//
// WHY not the register tiles of the other operands: a cell would be compiled once for each number
// of rows, for each of two units. Here the sums go through memory to the cell, which costs little
// compared with the product of a whole K. The AVX2 object grows by 18 % instead of 29 %.

// acc[m][v] += row m of A times vector v of a panel of `depth` operands.
template <typename Unit, int M, int NV>
void MultiplyQuads(const void* const* a, const Quad* b, int64_t depth, const Ahead& next,
                   Packet<float> (*acc)[NV]) {
  constexpr int V = kLanes<float>;
  constexpr int64_t ldb = NV * V;
  const Quad* row[M];
  Int32s sums[M][NV];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    row[m] = static_cast<const Quad*>(a[m]);
    const Int32s start = SetInt32s(Unit::kOffset ? OffsetOf(row[m]) : 0);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sums[m][v] = start;
  }
  const Quad* at = b + kQuadHeader * ldb;
  for (int64_t k = kQuadHeader; k < depth; ++k, at += ldb) {
    next.Fetch(k);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      const typename Unit::B weights = Unit::Prepare(at + v * V);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) {
        sums[m][v] = Unit::Dot(sums[m][v], Unit::Broadcast(row[m] + k), weights);
      }
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) {
    const Packet<float> scale = Load(reinterpret_cast<const float*>(b) + v * V);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      // WHY not sum * (factor * scale): with a sum of 0, factor * scale may be infinite.
      const Packet<float> product = pmul(ToFloats(sums[m][v]), scale);
      acc[m][v] = pmadd(product, Set<float>(FactorOf(row[m])), acc[m][v]);
    }
  }
}

// MultiplyQuads for at most kTileRows<NV> rows, with the unit of this CPU.
template <int NV>
EIGEN_DONT_INLINE void MultiplyQuadRows(const void* const* a, int rows, const Quad* b,
                                        int64_t depth, const Ahead& next,
                                        Packet<float> (*acc)[NV]) {
  const bool has_dot = CpuHasDotUnit();
  WithConstant<kTileRows<NV>>(rows, [&](auto m) {
    if (has_dot) {
      MultiplyQuads<DotUnit, decltype(m)::value, NV>(a, b, depth, next, acc);
    } else {
      MultiplyQuads<UnitWithoutDot, decltype(m)::value, NV>(a, b, depth, next, acc);
    }
  });
}

// The row tiles of a product, and the part of their sums that AMX computes before (Note [AMX]).

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
