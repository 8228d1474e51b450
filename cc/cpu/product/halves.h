// Row tiles of panels in halves, with AVX2.
//
// Note [Halves]
// A tile of 3 rows and 4 vectors needs 12 sums, 4 vectors of B and a broadcast of A: 17 of 16
// registers. So a panel of four vectors of exact operands is two halves there, each [K][2][V], and
// a tile has 4 to 6 rows and 2 vectors. It needs 15 registers, and reads half as many bytes of B
// for a multiplication. All row tiles use a block of panels that fits a part of the second-level
// cache: rows in the outer loop, so that the rows of A of a tile stay in the first-level cache, and
// panels in the inner loop. The sums go through memory to the cell, so the products are compiled
// once for all cells. In a tile of two or three rows a half would have too few sums to hide the
// latency of an addition: such tiles have 4 vectors, and read both halves at once. One row, which
// is too little work to hide the way through memory, is a tile as of other panels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/core/check.h"
#include "cc/cpu/product/row_tiles.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

constexpr int kHalvedRows = 6;  // the most rows of a tile

// The number of panels of a block, which all row tiles use, with `depth` rows of T.
template <typename T>
int64_t PanelsOfBlock(int64_t depth) {
  constexpr int64_t kBlockBytes = 128 << 10;
  const int64_t bytes = depth * 4 * kLanes<T> * static_cast<int64_t>(sizeof(T));
  // K may be 0.
  return std::max<int64_t>(1, kBlockBytes / std::max<int64_t>(1, bytes));
}

// Calls fn(tile, block, ahead) for all row tiles of at least two rows and all panels: blocks of
// panels, in them the blocks of K, in them the row tiles, in them the panels.
template <typename T, typename F>
EIGEN_ALWAYS_INLINE void ForHalvedTiles(int64_t rows, const Panels<T, 4>& panels,
                                        const RunsOfK& all, int64_t depth, F&& fn) {
  const BlocksOfK blocks(all, depth);
  const int64_t tiles = CeilDiv(rows, kHalvedRows), size = PanelsOfBlock<T>(all.run * all.runs);
  for (int64_t begin = 0; begin < panels.count(); begin += size) {
    const int64_t end = std::min(begin + size, panels.count());
    for (int64_t i = 0; i < blocks.count(); ++i) {
      const RunsOfK k = blocks.at(i);
      // Each tile prefetches the same panels of the next block of K, or the next panels.
      const bool last = i + 1 == blocks.count();
      auto next_at = [&](int64_t p) {
        return panels.Row(last ? p + size : p, last ? all.b_at : k.b_at + k.run * k.runs);
      };
      ForRowTiles<kHalvedRows>(rows, [&](int64_t row, int tile_rows) {
        const int passes = tile_rows <= kTileRows<4> ? 1 : 2;  // over K
        const Ahead first = AheadOf(next_at(begin), passes * k.runs * k.run,
                                    4 * kLanes<T> * sizeof(T) / passes, row, rows, tiles);
        for (int64_t p = begin; p < end; ++p) {
          const int64_t bytes = (next_at(p) - next_at(begin)) * int64_t{sizeof(T)};
          fn(RowTile{row, tile_rows, nullptr}, panels.Block(p, k),
             Ahead{first.at + bytes, first.step});
        }
      });
    }
  }
}

// One tile: its rows of A times one panel.
template <typename T>
struct HalvedTile {
  const void* const* a;  // [rows]
  int rows;              // from 2 to kHalvedRows
  const T* panel;        // with k.b_depth rows
  RunsOfK k;
  const T* const* start;  // [rows] the first sums, [4 * V]
  T* const* sums;         // out, [rows][4 * V]; may be the rows of `start`
  BatchRows batch;
  Ahead ahead;
};

// The sums of vectors [first, first + NV) of a tile of M rows. With `Gated` the rows of A are
// interleaved as in GatedRowsOfA.
template <typename T, int M, int NV, bool Gated>
EIGEN_ALWAYS_INLINE void MultiplyVectors(const HalvedTile<T>& t, int first, Ahead next) {
  constexpr int V = kLanes<T>;
  const RunsOfK& k = t.k;
  auto a = TileOfA<T, M, 4, Gated>(t.a, k.a_at);
  Packet<T> acc[M][NV];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    if (Gated) a.row[m] += first;
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[m][v] = Load(t.start[m] + (first + v) * V);
  }
  auto b = RowsOfB<T>::template OfPanel<4>(t.panel, k.b_depth, k.b_at);
  b.at += first / 2 * b.half;
  for (int64_t r = 0; r < k.runs; ++r) {
    if constexpr (NV == 2) {
      MultiplyTile<T, M, NV, /*InPlace=*/true>(a, b, k.run, next, acc);
    } else {
      MultiplyRows<T, M, NV>(a, b, k.run, t.batch, next, acc);
    }
    for (int m = 0; m < M; ++m) a.row[m] += k.a_stride * (Gated ? 4 : 1);
    b = b.From(k.b_stride);
    next.at += k.run * next.step;
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) Store(t.sums[m] + (first + v) * V, acc[m][v]);
  }
}

// MultiplyHalved for M rows.
template <typename T, int M, bool Gated>
EIGEN_DONT_INLINE void MultiplyHalvedRows(const HalvedTile<T>& t) {
  if constexpr (M <= kTileRows<4>) {
    MultiplyVectors<T, M, 4, Gated>(t, 0, t.ahead);
  } else {
    MultiplyVectors<T, M, 2, Gated>(t, 0, t.ahead);
    const int64_t fetched = t.k.run * t.k.runs * t.ahead.step;
    MultiplyVectors<T, M, 2, Gated>(t, 2, {t.ahead.at + fetched, t.ahead.step});
  }
}

// t.sums = t.start + the product.
template <typename T, bool Gated>
EIGEN_ALWAYS_INLINE void MultiplyHalved(const HalvedTile<T>& t) {
  RNN_DCHECK(t.rows >= 2 && t.rows <= kHalvedRows);
  WithConstant<kHalvedRows>(t.rows, [&](auto m) {
    constexpr int M = decltype(m)::value;
    if constexpr (M > 1) MultiplyHalvedRows<T, M, Gated>(t);
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
