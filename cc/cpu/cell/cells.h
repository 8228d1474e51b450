// The forward step of each cell, run on the accumulators of one register tile.
//
// A cell is handed, for row i of the current step and unit block u, the sums of the recurrent
// product in registers. Init gives what the sums start from, Sums where unfinished ones may wait.
// It reads and writes the row's other values through pointers. Buffers of gates and of c are padded
// to whole vectors; rows of h have exactly H elements.
#ifndef TF_RNN_OPS_CC_CPU_CELL_CELLS_H_
#define TF_RNN_OPS_CC_CPU_CELL_CELLS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cc/cpu/product/gemm.h"
#include "cc/cpu/simd/activations.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

// The rows of one step. Pointers of row i start at the row's unit 0. Rows of h are written as O.
template <typename T, typename O = T>
struct StepRows {
  const T** h_prev;  // [n] rows of S elements
  T** gates;         // [n] in: input products and biases; out: what backward needs
  const T** c_prev;  // [n] LSTM
  T** c;             // [n] LSTM; GRU with rounded h: h itself, which h_prev then points to
  O** h;             // [n] out
};

// LSTM: i, f, o = s(.), g = tanh(.); c = f * c_prev + i * g; h = o * tanh(c).
// Gate buffer: [u][i, f, g, o][V].
template <typename T, typename O = T>
struct LstmCell {
  static constexpr int kVectors = 4;
  StepRows<T, O> rows;
  int64_t units;

  EIGEN_ALWAYS_INLINE void Init(int64_t i, int64_t u, Packet<T>* acc) const {
    const T* g = rows.gates[i] + u * 4 * kLanes<T>;
    for (int v = 0; v < 4; ++v) acc[v] = Load(g + v * kLanes<T>);
  }

  EIGEN_ALWAYS_INLINE T* Sums(int64_t i, int64_t u) const {
    return rows.gates[i] + u * 4 * kLanes<T>;
  }

  EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
    constexpr int V = kLanes<T>;
    const Packet<T> in = Sigmoid<T>(acc[0]);
    const Packet<T> forget = Sigmoid<T>(acc[1]);
    const Packet<T> candidate = Tanh<T>(acc[2]);
    const Packet<T> out = Sigmoid<T>(acc[3]);
    const Packet<T> c = pmadd(forget, Load(rows.c_prev[i] + u * V), pmul(in, candidate));
    T* g = rows.gates[i] + u * 4 * V;
    Store(g, in);
    Store(g + V, forget);
    Store(g + 2 * V, candidate);
    Store(g + 3 * V, out);
    Store(rows.c[i] + u * V, c);
    StoreFirst(rows.h[i] + u * V, pmul(out, Tanh<T>(c)), units - u * V);
  }
};

// GRU: r, z = s(.); q = h_prev * R_h + b_Rh; n = tanh(x * W_h + b_Wh + r * q);
// h = (1 - z) * n + z * h_prev.
// Gate buffer: [u][n, r, z, q][V], so that the vectors of the input product (n, r, z) and those of
// the recurrent product (r, z, q) are each contiguous.
template <typename T, typename O = T>
struct GruCell {
  static constexpr int kVectors = 3;  // r, z, q
  StepRows<T, O> rows;
  int64_t units;
  const T* recurrent_bias;  // [u][V] of q, padded

  EIGEN_ALWAYS_INLINE void Init(int64_t i, int64_t u, Packet<T>* acc) const {
    constexpr int V = kLanes<T>;
    const T* g = rows.gates[i] + u * 4 * V;
    acc[0] = Load(g + V);
    acc[1] = Load(g + 2 * V);
    acc[2] = Load(recurrent_bias + u * V);
  }

  EIGEN_ALWAYS_INLINE T* Sums(int64_t i, int64_t u) const {
    return rows.gates[i] + (u * 4 + 1) * kLanes<T>;
  }

  EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
    constexpr int V = kLanes<T>;
    T* g = rows.gates[i] + u * 4 * V;
    const int64_t n = units - u * V;
    const Packet<T> reset = Sigmoid<T>(acc[0]);
    const Packet<T> update = Sigmoid<T>(acc[1]);
    const Packet<T> candidate = Tanh<T>(pmadd(reset, acc[2], Load(g)));
    const Packet<T> h_prev = LoadFirst(rows.h_prev[i] + u * V, n);
    Store(g, candidate);
    Store(g + V, reset);
    Store(g + 2 * V, update);
    Store(g + 3 * V, acc[2]);
    // (1 - z) * n + z * h_prev = n + z * (h_prev - n)
    const Packet<T> h = pmadd(update, psub(h_prev, candidate), candidate);
    if constexpr (!std::is_same_v<T, O>) Store(rows.c[i] + u * V, h);
    StoreFirst(rows.h[i] + u * V, h, n);
  }
};

struct TanhActivation {
  template <typename T>
  static EIGEN_ALWAYS_INLINE Packet<T> Apply(const Packet<T>& x) {
    return Tanh<T>(x);
  }
  // d act / d pre-activation from the result.
  template <typename T>
  static EIGEN_ALWAYS_INLINE Packet<T> Slope(const Packet<T>& y) {
    return psub(Set<T>(T(1)), pmul(y, y));
  }
};

struct ReluActivation {
  template <typename T>
  static EIGEN_ALWAYS_INLINE Packet<T> Apply(const Packet<T>& x) {
    return Relu<T>(x);
  }
  template <typename T>
  static EIGEN_ALWAYS_INLINE Packet<T> Slope(const Packet<T>& y) {
    const Packet<T> zero = Set<T>(T(0));
    return Eigen::internal::pselect(Eigen::internal::pcmp_lt(zero, y), Set<T>(T(1)), zero);
  }
};

// h = act(.). The unit blocks of a panel are its NV vectors; gate buffer: [u][V], only an input.
template <typename T, typename O, typename Activation, int NV>
struct VanillaCell {
  static constexpr int kVectors = NV;
  StepRows<T, O> rows;
  int64_t units;
  int64_t first_block;  // unit block of panel 0

  EIGEN_ALWAYS_INLINE void Init(int64_t i, int64_t p, Packet<T>* acc) const {
    const T* g = rows.gates[i] + (first_block + p * NV) * kLanes<T>;
    for (int v = 0; v < NV; ++v) acc[v] = Load(g + v * kLanes<T>);
  }

  EIGEN_ALWAYS_INLINE T* Sums(int64_t i, int64_t p) const {
    return rows.gates[i] + (first_block + p * NV) * kLanes<T>;
  }

  EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t p, const Packet<T>* acc) const {
    const int64_t first = (first_block + p * NV) * kLanes<T>;
    for (int v = 0; v < NV; ++v) {
      const int64_t unit = first + v * kLanes<T>;
      StoreFirst(rows.h[i] + unit, Activation::template Apply<T>(acc[v]), units - unit);
    }
  }
};

// The recurrent product of one step.
template <typename T, typename E = T>
struct StepProduct {
  int64_t rows;       // alive at the step
  const E* const* a;  // [rows] what the weights multiply: h_prev, or what was made of it
  int64_t depth;      // K in operands
  const E* panels;    // packed recurrent weights
  int few_rows;       // see MultiplyRows
  bool reversed;      // see PanelOrder
};

// One row tile of RunCell: the products of `depth` operands from k0 on, which begin a sum, end it,
// or both. Unfinished sums wait in the gate buffer.
template <typename T, int M, bool Gated, typename E, typename Cell>
void RunCellTile(const Cell& cell, const StepProduct<T, E>& product, int64_t i, int64_t p,
                 const E* b, int64_t k0, int64_t depth, const Ahead& ahead) {
  constexpr int NV = Cell::kVectors;
  constexpr int V = kLanes<T>;
  Packet<T> acc[M][NV];
  std::conditional_t<Gated, GatedRowsOfA<E, M, NV>, RowsOfA<E, M>> a;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    a.row[m] = product.a[i + m] + k0 * (Gated ? NV : 1);
    if (k0 == 0) {
      cell.Init(i + m, p, acc[m]);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[m][v] = Load(cell.Sums(i + m, p) + v * V);
    }
  }
  MultiplyRows<T, M, NV>(a, b, NV * V, depth, product.few_rows, ahead, acc);
  const bool last = k0 + depth == product.depth;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    if (last) {
      cell.Finish(i + m, p, acc[m]);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) Store(cell.Sums(i + m, p) + v * V, acc[m][v]);
    }
  }
}

// Rows of a panel that stay in the first-level cache while the row tiles pass over them. With 32
// registers a tile is large enough for the second level to keep up.
constexpr int64_t kStepDepth = kVectorRegisters == 32 ? std::numeric_limits<int64_t>::max() : 256;

// All rows of a step for panels [panel0, panel1): the recurrent product and the cell. With `Gated`
// the rows of A are as in GatedRowsOfA.
template <typename T, bool Gated, typename E, typename Cell>
void RunCell(const Cell& cell, const StepProduct<T, E>& product, int64_t panel0, int64_t panel1) {
  constexpr int NV = Cell::kVectors;
  constexpr int M = kTileRows<NV>;
  constexpr int64_t ldb = NV * kLanes<T>;
  const int64_t tiles = CeilDiv(product.rows, M);
  const int64_t block = tiles == 1 ? product.depth : std::min(product.depth, kStepDepth);
  const PanelOrder order = {panel0, panel1, product.reversed};
  for (int64_t q = 0; q < order.count(); ++q) {
    const int64_t p = order.at(q);
    const E* panel = product.panels + p * product.depth * ldb;
    const E* next_panel =
        product.panels + order.at(std::min(q + 1, order.count() - 1)) * product.depth * ldb;
    for (int64_t k0 = 0; k0 < product.depth; k0 += block) {
      const int64_t depth = std::min(block, product.depth - k0);
      const E* b = panel + k0 * ldb;
      const E* next = k0 + depth < product.depth ? b + depth * ldb : next_panel;
      ForRowTiles<M>(product.rows, [&](int64_t i, auto m) {
        const Ahead ahead = AheadOf(next, depth, ldb * sizeof(E), i, product.rows, tiles);
        RunCellTile<T, decltype(m)::value, Gated>(cell, product, i, p, b, k0, depth, ahead);
      });
    }
  }
}

// The same with the recurrent product from elsewhere: product(i, panel, v) is vector v of the
// panel.
template <typename T, typename Cell, typename Product>
void RunCellOn(const Cell& cell, int64_t rows, int64_t panel0, int64_t panel1, Product&& product) {
  constexpr int NV = Cell::kVectors;
  for (int64_t p = panel0; p < panel1; ++p) {
    for (int64_t i = 0; i < rows; ++i) {
      Packet<T> acc[NV];
      cell.Init(i, p, acc);
      for (int v = 0; v < NV; ++v) acc[v] = padd(acc[v], product(i, p, v));
      cell.Finish(i, p, acc);
    }
  }
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_CELL_CELLS_H_
