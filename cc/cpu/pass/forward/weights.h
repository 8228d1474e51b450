// The weights of a layer in a forward pass, packed or in the caller's tensors.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/core/checked_math.h"
#include "cc/cpu/pass/forward/step_product.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/packed_weights.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/dot.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The products of a forward pass on unpacked weights in the caller's tensors (product/dot.h).

// The rows of weights of which a product by columns reads all columns before it reads the next
// rows. A row of a large matrix is a page of memory, and the first level of the TLB holds 64 pages.
// In a small matrix the sums, which each block stores and loads, would cost more.
inline int64_t ColumnDepth(int64_t depth, int64_t row_bytes) {
  return Area(depth, row_bytes) <= kSmallWeightBytes ? depth : 32;
}

// gates += x * w for some rows, on weights with contiguous columns. Writes the vectors of `order`
// beginning at `at`.
template <typename T>
void AddGateColumns(const Sizes<T>& s, const MatrixView<const T>& w, const GateOrder& order, int at,
                    const T* const* x, int64_t rows, int64_t depth, const Range& blocks,
                    T* const* gates) {
  constexpr int V = kLanes<T>;
  const int64_t columns = std::min(s.units, blocks.end * V) - blocks.begin * V;
  const int64_t block = ColumnDepth(depth, w.k_stride * sizeof(T));
  ForRowTiles<kColumnRows>(rows, [&](int64_t first, int size) {
    WithConstant<kColumnRows>(size, [&](auto constant) {
      constexpr int M = decltype(constant)::value;
      for (int64_t k = 0; k < depth; k += block) {
        ColumnRows<T, M> tile;
        for (int m = 0; m < M; ++m) tile.x.row[m] = x[first + m] + k;
        std::copy_n(gates + first, M, tile.sums);
        for (int v = 0; v < order.count; ++v) {
          AddColumns(w.At(k, order.source[v] * s.units + blocks.begin * V).data, w.k_stride,
                     columns, std::min(block, depth - k), tile,
                     (blocks.begin * s.cell.buffer + at + v) * V, s.cell.buffer * V);
        }
      }
    });
  });
}

// The part of rows of gates that comes from rows of x.
template <typename T>
void UnpackedInputProduct(const Sizes<T>& s, const MatrixView<const T>& w, const T* bias,
                          const T* const* x, int64_t rows, int64_t in, const Range& blocks,
                          T* const* gates) {
  constexpr int V = kLanes<T>;
  const GateOrder& order = s.cell.input;
  for (int64_t u = blocks.begin; u < blocks.end; ++u) {
    const T* b = bias + u * order.count * V;
    const int64_t at = (u * s.cell.buffer + s.cell.input_at) * V;
    if (w.n_stride == 1) {
      for (int64_t i = 0; i < rows; ++i) std::copy_n(b, order.count * V, gates[i] + at);
      continue;
    }
    for (int v = 0; v < order.count; ++v) {
      const T* of_unit = w.At(0, order.source[v] * s.units + u * V).data;
      for (int64_t i = 0; i < rows; ++i) {
        const Packet<T> sum = DotRows(of_unit, w.n_stride, s.units - u * V, x[i], in);
        Store(gates[i] + at + v * V, padd(Load(b + v * V), sum));
      }
    }
  }
  if (w.n_stride == 1) {
    AddGateColumns(s, w, order, s.cell.input_at, x, rows, in, blocks, gates);
  }
}

// Runs the cell on sums: product(i, u, v) returns vector v of unit block u in row i.
template <typename T, typename Step, typename Product>
void RunCellOn(const Step& step, int64_t rows, const Range& blocks, Product&& product) {
  constexpr int NV = Step::kVectors;
  for (int64_t u = blocks.begin; u < blocks.end; ++u) {
    for (int64_t i = 0; i < rows; ++i) {
      Packet<T> acc[NV];
      step.Init(i, u, acc);
      for (int v = 0; v < NV; ++v) acc[v] = padd(acc[v], product(i, u, v));
      step.Finish(i, u, acc);
    }
  }
}

// Runs the recurrent product and the cell. With contiguous columns the sums are written to the gate
// buffer, where the cell reads the sums that continue a sum of the input product.
template <typename T, typename Step>
void RunUnpackedCell(const Sizes<T>& s, const Step& step, const MatrixView<const T>& w,
                     int64_t rows, const Range& blocks) {
  constexpr int V = kLanes<T>;
  const GateOrder& order = s.cell.recurrent;
  if (w.n_stride != 1) {
    RunCellOn<T>(step, rows, blocks, [&](int64_t i, int64_t u, int v) {
      return DotRows(w.At(0, order.source[v] * s.units + u * V).data, w.n_stride, s.units - u * V,
                     step.rows.h_prev[i], s.hidden);
    });
    return;
  }
  auto at = [&](int64_t i, int64_t u, int v) {
    return step.rows.gates[i] + (u * s.cell.buffer + s.cell.recurrent_at + v) * V;
  };
  // Vectors from this vector on have no sum from the input product.
  const int own = s.cell.input_at + s.cell.input.count - s.cell.recurrent_at;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t u = blocks.begin; u < blocks.end; ++u) {
      for (int v = own; v < order.count; ++v) Store(at(i, u, v), Set<T>(T(0)));
    }
  }
  AddGateColumns(s, w, order, s.cell.recurrent_at, step.rows.h_prev, rows, s.hidden, blocks,
                 step.rows.gates);
  RunCellOn<T>(step, rows, blocks, [&](int64_t i, int64_t u, int v) {
    return v < own ? Set<T>(T(0)) : Load(at(i, u, v));
  });
}

// Columns [begin, end) of h = m * W_proj for one row.
template <typename T>
void UnpackedProjection(const Sizes<T>& s, const MatrixView<const T>& w, const T* m, int64_t begin,
                        int64_t end, T* h) {
  constexpr int V = kLanes<T>;
  if (w.n_stride != 1) {
    for (int64_t c = begin; c < end; c += V) {
      StoreFirst(h + c, DotRows(w.At(0, c).data, w.n_stride, end - c, m, s.units), end - c);
    }
    return;
  }
  // Whole vectors of sums, because a row of h has no padding behind its columns.
  constexpr int64_t kColumns = 8 * V;
  alignas(64) T sums[kColumns];
  for (int64_t c = begin; c < end; c += kColumns) {
    const int64_t n = std::min(kColumns, end - c);
    std::fill(sums, sums + kColumns, T(0));
    AddColumns(w.At(0, c).data, w.k_stride, n, s.units, ColumnRows<T, 1>{{{m}}, {sums}}, 0, V);
    std::copy(sums, sums + n, h + c);
  }
}

// The weights of one direction for the forward pass: packed, or unpacked in the caller's tensors.
template <typename T>
struct ForwardWeights {
  WeightSource<T> source = {};
  PackedWeights<T> packed = {};  // only the biases if `unpacked`
  bool unpacked = false;

  // Allocates memory for `in` columns of x.
  void Take(Arena& arena, const Sizes<T>& s, int64_t in) {
    packed = unpacked ? TakePackedBiases(arena, s) : TakePackedWeights(arena, s, in);
  }

  // The part of the gates that comes from `in` columns of x, for gate panels [panel0, panel1).
  void InputProduct(const Sizes<T>& s, const WeightedRows& x, int64_t in, int64_t panel0,
                    int64_t panel1, T* const* gates) const {
    if (unpacked) {
      const Range blocks = s.BlocksOf(panel0, panel1);
      UnpackedInputProduct(s, source.exact.input, packed.bias,
                           reinterpret_cast<const T* const*>(x.a), x.rows, in, blocks, gates);
      return;
    }
    RowGemm<T> g = Product(s, x, in, packed.input, s.gate_part, gates);
    g.panel_stride = s.panel_vectors() * kLanes<T>;
    g.bias = packed.bias;
    g.start = s.cell.whole_rows ? Start::kZero : Start::kBias;
    if (s.dense) {
      GemmDense(g, panel0, panel1);
    } else {
      GemmGatePanels(g, s.cell.input.count, panel0, panel1);
    }
  }

  // Only the recurrent product, to `sums`, for the gate panels of `order`.
  void RecurrentProduct(const Sizes<T>& s, const WeightedRows& h, const PanelOrder& order,
                        T* const* sums) const {
    RowGemm<T> g = Product(s, h, s.hidden, packed.recurrent, s.gate_part, sums);
    g.panel_stride = s.panel_vectors() * kLanes<T>;
    g.reversed = order.reversed;
    GemmGatePanels(g, s.cell.recurrent.count, order.begin, order.end);
  }

  // h = m * W of the second product of a step, for its dense panels [panel0, panel1).
  void SecondProduct(const Sizes<T>& s, const WeightedRows& m, int64_t panel0, int64_t panel1,
                     T* const* h) const {
    if (unpacked) {
      const UnitRange columns = UnitsOfDensePanels<T>(panel0, panel1, s.second_columns);
      for (int64_t i = 0; i < m.rows; ++i) {
        UnpackedProjection(s, source.exact.second, static_cast<const T*>(m.a[i]), columns.begin,
                           columns.end, h[i]);
      }
      return;
    }
    GemmDense(Product(s, m, s.units, packed.second, s.second_columns, h), panel0, panel1);
  }

 private:
  // The product of rows of `width` values and panels of `columns` columns.
  static RowGemm<T> Product(const Sizes<T>& s, const WeightedRows& rows, int64_t width,
                            const char* panels, int64_t columns, T* const* to) {
    RowGemm<T> g = {rows.a, to, rows.rows, RunsOfK::Dense(s.depth(width)), panels, columns};
    g.batch = rows.batch;
    g.gated = rows.gated;
    g.operands = s.operands;
    return g;
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
