// The products of a forward pass on unpacked weights in the caller's tensors (product/dot.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/dot.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// gates += row * w, on weights with contiguous columns. Writes the vectors of `order` beginning at
// `at`.
template <typename T>
void AddGateColumns(const Sizes<T>& s, const MatrixView<const T>& w, const GateOrder& order, int at,
                    const T* row, int64_t depth, const Range& blocks, T* gates) {
  constexpr int V = kLanes<T>;
  const int64_t columns = std::min(s.units, blocks.end * V) - blocks.begin * V;
  for (int v = 0; v < order.count; ++v) {
    AddColumns(w.At(0, order.source[v] * s.units + blocks.begin * V).data, w.k_stride, columns, row,
               depth, gates + (blocks.begin * s.cell.buffer + at + v) * V, s.cell.buffer * V);
  }
}

// The part of a row of gates that comes from a row of x.
template <typename T>
void PlainInputProduct(const Sizes<T>& s, const MatrixView<const T>& w, const T* bias, const T* x,
                       int64_t in, const Range& blocks, T* gates) {
  constexpr int V = kLanes<T>;
  const GateOrder& order = s.cell.input;
  for (int64_t u = blocks.begin; u < blocks.end; ++u) {
    const T* b = bias + u * order.count * V;
    T* g = gates + (u * s.cell.buffer + s.cell.input_at) * V;
    if (w.n_stride == 1) {
      std::copy(b, b + order.count * V, g);
      continue;
    }
    for (int v = 0; v < order.count; ++v) {
      const T* rows = w.At(0, order.source[v] * s.units + u * V).data;
      const Packet<T> sum = DotRows(rows, w.n_stride, s.units - u * V, x, in);
      Store(g + v * V, padd(Load(b + v * V), sum));
    }
  }
  if (w.n_stride == 1) AddGateColumns(s, w, order, s.cell.input_at, x, in, blocks, gates);
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
void RunPlainCell(const Sizes<T>& s, const Step& step, const MatrixView<const T>& w, int64_t rows,
                  const Range& blocks) {
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
    AddGateColumns(s, w, order, s.cell.recurrent_at, step.rows.h_prev[i], s.hidden, blocks,
                   step.rows.gates[i]);
  }
  RunCellOn<T>(step, rows, blocks, [&](int64_t i, int64_t u, int v) {
    return v < own ? Set<T>(T(0)) : Load(at(i, u, v));
  });
}

// Columns [begin, end) of h = m * W_proj for one row.
template <typename T>
void PlainProjection(const Sizes<T>& s, const MatrixView<const T>& w, const T* m, int64_t begin,
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
    AddColumns(w.At(0, c).data, w.k_stride, n, m, s.units, sums, V);
    std::copy(sums, sums + n, h + c);
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
