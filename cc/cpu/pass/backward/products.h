// The products over all rows that follow the time loop backwards: dx and the gradients of the
// weights.
#ifndef TF_RNN_OPS_CC_CPU_PASS_BACKWARD_PRODUCTS_H_
#define TF_RNN_OPS_CC_CPU_PASS_BACKWARD_PRODUCTS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/recurrence.h"
#include "cc/cpu/pass/backward/weight_gradient.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/narrow_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Rows and dense panels of dx that one item of work computes.
struct InputGradientItem {
  int64_t row0, row1;
  int64_t panel0, panel1;
};

// dx where x was added to every gate.
template <typename T>
void SkippedInputGradient(const Sizes<T>& s, const T* const* dgates, bool accumulate, int64_t rows,
                          T* const* dx) {
  constexpr int V = kLanes<T>;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t u = 0; u < s.blocks; ++u) {
      const int64_t valid = s.units - u * V;
      const T* g = dgates[i] + (u * s.cell.buffer + s.cell.input_at) * V;
      Packet<T> sum = accumulate ? LoadFirst(dx[i] + u * V, valid) : Set<T>(T(0));
      for (int v = 0; v < s.cell.input.count; ++v) sum = padd(sum, Load(g + v * V));
      StoreFirst(dx[i] + u * V, sum, valid);
    }
  }
}

// The product of InputGradient with a mask of x for each gate.
template <typename T>
void MaskedInputGradient(const BackwardLayer<T>& layer, const RowGemm<T>& g,
                         const InputGradientItem& item) {
  const T* scale[kMostRowsOfItem];
  int64_t batch_of[kMostRowsOfItem];
  ForPackedRows(*layer.seq, item.row0, item.row1, [&](int64_t row, int64_t, int64_t j) {
    batch_of[row - item.row0] = layer.seq->perm[j];
  });
  MaskedGateProduct(layer.sizes, /*recurrent=*/false, g, item.panel0, item.panel1, scale,
                    [&](int gate, int64_t i) { return layer.input_masks.row(gate, batch_of[i]); });
}

// dx of packed rows and dense panels: the sum over directions of dgates * W^T.
template <typename T, typename E>
void InputGradient(const BackwardLayer<T, E>& layer, const InputGradientItem& item) {
  constexpr int V = kLanes<T>;
  const Sizes<T>& s = layer.sizes;
  const int64_t row0 = item.row0;
  const int64_t n = item.row1 - row0;
  T* dx[kMostRowsOfItem];
  const E* dgates[kMostRowsOfItem];
  ForPackedRows(*layer.seq, row0, item.row1,
                [&](int64_t row, int64_t t, int64_t j) { dx[row - row0] = layer.dx.at(t, j); });
  for (int d = 0; d < s.num_dirs; ++d) {
    for (int64_t i = 0; i < n; ++i) {
      dgates[i] = layer.dirs[d].dgates + OperandsOf<E>((row0 + i) * s.gate_row);
    }
    if constexpr (std::is_same_v<T, E>) {
      if (layer.skip_input) {
        SkippedInputGradient(s, dgates, d > 0, n, dx);
        continue;
      }
    }
    RowGemm<T, E> g;
    g.a = dgates;
    g.c = dx;
    g.rows = n;
    g.b = layer.dirs[d].input;
    g.columns = layer.in;
    g.panel_stride = 4 * V;
    g.start = d == 0 ? Start::kZero : Start::kAccumulate;
    if constexpr (std::is_same_v<T, E>) {
      if (layer.input_masks) {
        MaskedInputGradient(layer, g, item);
        continue;
      }
    }
    SetGateRuns(s, /*recurrent=*/false, &g);
    GemmDense(g, item.panel0, item.panel1);
  }
}

// Gate panels, or dense panels of units, that one item of work reduces together.
struct PanelRange {
  int64_t begin;
  int64_t end;
};

// Ranges of panels of the same width: the last dense panel may be narrower.
class PanelRanges {
 public:
  PanelRanges(int64_t panels, bool last_is_narrower, int64_t size)
      : panels_(panels), even_(last_is_narrower ? panels - 1 : panels), size_(size) {}

  int64_t count() const { return CeilDiv(even_, size_) + panels_ - even_; }
  PanelRange at(int64_t i) const {
    const int64_t begin = std::min(i * size_, even_);
    return {begin, begin < even_ ? std::min(begin + size_, even_) : panels_};
  }

 private:
  const int64_t panels_;
  const int64_t even_;
  const int64_t size_;
};

// Columns of a factor of a reduction.
struct FactorColumns {
  int64_t first;
  int64_t count;
};

// Piece `piece` of `pieces` of the columns of several factors side by side, a factor of `columns`
// columns beginning at `at`. Cuts lie between the tiles of GemmTransposed.
inline FactorColumns PieceOfFactor(int64_t piece, int64_t pieces, int64_t all, int64_t at,
                                   int64_t columns) {
  auto cut = [&](int64_t i) { return i == pieces ? all : all * i / pieces / 24 * 24; };
  const int64_t begin = std::clamp(cut(piece) - at, int64_t{0}, columns);
  return {begin, std::clamp(cut(piece + 1) - at, int64_t{0}, columns) - begin};
}

// The gradients of the weights and biases of gate panels; of one piece of their rows where those
// are cut.
template <typename T, typename E>
void GateWeightGradient(const BackwardLayer<T, E>& layer, int d, const PanelRange& range,
                        int64_t piece, const WeightViews<T>& to) {
  constexpr int V = kLanes<T>;
  const Sizes<T>& s = layer.sizes;
  const BackwardDirection<T, E>& dir = layer.dirs[d];
  const int64_t in = to.input.data == nullptr ? 0 : layer.in;
  const int vectors = s.dense ? PanelVectors(s.blocks, range.begin) : s.cell.buffer;
  const int nx = s.dense ? vectors : s.cell.input.count;
  const int nh = s.dense ? vectors : s.cell.recurrent.count;
  const int64_t second = s.cell.second >= 0 ? s.units : 0;  // of the cell's second product
  const int64_t all = in + s.hidden + second;
  const FactorColumns cx = PieceOfFactor(piece, layer.weight_pieces, all, 0, in);
  const FactorColumns ch = PieceOfFactor(piece, layer.weight_pieces, all, in, s.hidden);
  const FactorColumns cs = PieceOfFactor(piece, layer.weight_pieces, all, in + s.hidden, second);
  const int64_t x_size = in * (s.dense ? 4 : nx) * V;
  const int64_t h_size = s.hidden * (s.dense ? 4 : nh) * V;
  T* dwx = dir.gradient.input + range.begin * x_size + cx.first * nx * V;
  T* dwh = dir.gradient.recurrent + range.begin * h_size + ch.first * nh * V;
  alignas(64) T bias[kReductionPanels * 4 * V];
  const bool mask_x = static_cast<bool>(layer.input_masks);
  const bool mask_h = static_cast<bool>(layer.recurrent_masks);
  const ReductionPanels panels = {range.begin * s.panel_vectors() * V,
                                  static_cast<int>(range.end - range.begin), vectors};
  const int64_t m_size = second * V;
  T* dws = dir.gradient.second + range.begin * m_size + cs.first * V;
  const ReductionFactor<T> factors[3] = {
      {cx.count, s.cell.input_at, nx, dwx, x_size, mask_x && !s.dense},
      {ch.count, s.cell.recurrent_at, nh, dwh, h_size, mask_h && !s.dense},
      {cs.count, s.cell.second_at, 1, dws, m_size, false}};
  E* const space = dir.reduction + (range.begin * layer.weight_pieces + piece * panels.count) *
                                       ReductionSpace<T, E>(layer.seq->rows);
  T* const bias_sums = piece == 0 ? bias : nullptr;
  if constexpr (std::is_same_v<T, E>) {
    const int64_t gx = mask_x ? s.cell.input.count : 1;
    const int64_t gh = mask_h ? s.cell.recurrent.count : 1;
    auto reduce = [&](const T* dgates, const ReductionFactor<T>(&some)[3], T* sums) {
      ReducePanels(
          *layer.seq, dgates, s.gate_row, panels, some, sums, space,
          [&](int64_t row, int64_t t, int64_t j, int factor) -> const T* {
            if (factor == 2) return dir.m + row * s.padded + cs.first;
            if (factor == 0) {
              return (mask_x ? layer.operand_x + row * in * gx : layer.x.at(t, j)) + cx.first * gx;
            }
            return (mask_h ? dir.operand_h + row * s.hidden * gh : layer.HBefore(d, t, j)) +
                   ch.first * gh;
          });
    };
    if (s.cell.whole_rows) {
      // Each factor has gradients of its own. Those of the biases are LayerNormGradients's.
      for (int f = 0; f < 2; ++f) {
        ReductionFactor<T> one[3] = {factors[0], factors[1], factors[2]};
        one[1 - f].columns = one[2].columns = 0;
        if (one[f].columns > 0) reduce(dir.dgates + f * s.recurrent_part, one, nullptr);
      }
    } else {
      reduce(dir.dgates, factors, bias_sums);
    }
  } else {
    ReducePanels(*layer.seq, dir.dgates, s.gate_row, panels, factors, bias_sums, space,
                 [&](int64_t pair, int64_t, int64_t, int factor) -> const E* {
                   return factor == 0 ? layer.operand_x + pair * RoundUp(in, V) + cx.first
                                      : dir.operand_h + pair * s.hidden_padded + ch.first;
                 });
  }

  for (int64_t panel = range.begin; panel < range.end; ++panel) {
    const int64_t q = panel - range.begin;
    const T* sums = bias + q * vectors * V;
    // Vector v of the panel is gate `gate` of unit block `block`.
    auto column = [&](const GateOrder& order, int v) {
      return s.dense ? (4 * panel + v) * V : order.source[v] * s.units + panel * V;
    };
    auto valid = [&](int v) {
      return std::min<int64_t>(V, s.units - (s.dense ? 4 * panel + v : panel) * V);
    };
    for (int v = 0; v < nx; ++v) {
      const int64_t col = column(s.cell.input, v);
      if (cx.count > 0) {
        UnpackVector(dwx + q * x_size + v * V, nx * V, cx.count, valid(v),
                     to.input.At(cx.first, col));
      }
      if (to.input_bias == nullptr || piece > 0) continue;
      StoreFirst(to.input_bias + col, Load(sums + (s.cell.input_at + v) * V), valid(v));
    }
    for (int v = 0; v < nh; ++v) {
      const int64_t col = column(s.cell.recurrent, v);
      UnpackVector(dwh + q * h_size + v * V, nh * V, ch.count, valid(v),
                   to.recurrent.At(ch.first, col));
      if (to.recurrent_bias == nullptr || piece > 0) continue;
      StoreFirst(to.recurrent_bias + col, Load(sums + (s.cell.recurrent_at + v) * V), valid(v));
    }
    if (cs.count > 0) {
      UnpackVector(dws + q * m_size, V, cs.count, valid(0), to.second.At(cs.first, panel * V));
    }
  }
}

// The gradient of the projection for dense panels of units.
template <typename T>
void ProjectionGradient(const BackwardLayer<T>& layer, int d, const PanelRange& range,
                        const WeightViews<T>& to) {
  constexpr int V = kLanes<T>;
  const Sizes<T>& s = layer.sizes;
  const BackwardDirection<T>& dir = layer.dirs[d];
  const int vectors = PanelVectors(s.blocks, range.begin);
  const int64_t size = s.proj * 4 * V;
  T* result = dir.gradient.second + range.begin * size;
  const ReductionPanels panels = {range.begin * 4 * V, static_cast<int>(range.end - range.begin),
                                  vectors};
  const ReductionFactor<T> factors[1] = {{s.proj, 0, vectors, result, size, false}};
  T* const space = dir.reduction + (s.panels() * layer.weight_pieces + range.begin) *
                                       ReductionSpace<T, T>(layer.seq->rows);
  ReducePanels(
      *layer.seq, dir.m, s.padded, panels, factors, static_cast<T*>(nullptr), space,
      [&](int64_t row, int64_t, int64_t, int) { return dir.dh_total + row * s.hidden_padded; });
  for (int64_t panel = range.begin; panel < range.end; ++panel, result += size) {
    for (int v = 0; v < vectors; ++v) {
      const int64_t unit = (4 * panel + v) * V;
      // result(p, unit); the target is addressed as (unit, p).
      const MatrixView<T> at = to.second.At(unit, 0);
      UnpackVector(result + v * V, vectors * V, s.proj, std::min<int64_t>(V, s.units - unit),
                   MatrixView<T>{at.data, at.n_stride, at.k_stride});
    }
  }
}

// What the weight gradients read of x and of the h before each step where that is not the rows
// themselves: masked rows, or pairs of rows.
template <typename T, typename E>
void MakeBackwardOperands(const BackwardLayer<T, E>& layer, const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  const Sequence& seq = *layer.seq;
  auto x = [&](int64_t t, int64_t j) { return layer.x.at(t, j); };
  if constexpr (!std::is_same_v<T, E>) {
    PairRows(seq, layer.in, layer.operand_x, parallel, x);
  } else if (layer.input_masks) {
    MaskRows(seq, layer.input_masks, s.cell.input, layer.operand_x, parallel, x);
  }
  for (int d = 0; d < s.num_dirs; ++d) {
    auto h = [&](int64_t t, int64_t j) { return layer.HBefore(d, t, j); };
    if constexpr (!std::is_same_v<T, E>) {
      PairRows(seq, s.hidden, layer.dirs[d].operand_h, parallel, h);
    } else if (layer.recurrent_masks) {
      MaskRows(seq, layer.recurrent_masks, s.cell.recurrent, layer.dirs[d].operand_h, parallel, h);
    }
  }
}

// The products over all rows: dx and the gradients of weights and biases.
template <typename T, typename E>
void RunBackwardProducts(const BackwardLayer<T, E>& layer, const WeightViews<T>* to,
                         const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  const Sequence& seq = *layer.seq;
  MakeBackwardOperands(layer, parallel);
  const int64_t threads = parallel.threads.count;
  const int64_t input_panels = layer.skip_input ? 1 : DensePanels<T>(layer.in);
  const RowItems inputs = ChooseRowItems(seq.rows, input_panels, threads);
  const bool narrower = s.blocks % 4 != 0;
  const int64_t pieces = layer.weight_pieces;
  auto ranges = [&](int64_t panels, bool last_is_narrower) {
    return PanelRanges(panels, last_is_narrower, PanelsOfItem(panels, kReductionPanels, threads));
  };
  const PanelRanges gates = ranges(s.panels(), s.dense && narrower);
  const PanelRanges units = ranges(DensePanels<T>(s.units), narrower);
  const int64_t gate_items = gates.count() * pieces;
  const int64_t weight_items = gate_items + (s.proj > 0 ? units.count() : 0);
  // With few rows writing the weight gradients is most of it.
  const int64_t ns =
      NsToMultiply(2 * Area(Area(seq.rows, s.num_dirs * s.gate_part), layer.in + s.hidden)) +
      NsToMove(s.num_dirs * PanelBytes<T, T>(s, layer.skip_input ? 0 : layer.in));
  Parallel(parallel, s.num_dirs * weight_items + inputs.count, ns, [&](int64_t i) {
    if (i >= s.num_dirs * weight_items) {
      const int64_t item = i - s.num_dirs * weight_items;
      const int64_t row0 = item / inputs.parts * inputs.rows;
      const int64_t part = item % inputs.parts;
      InputGradient<T, E>(
          layer, {row0, std::min(seq.rows, row0 + inputs.rows), input_panels * part / inputs.parts,
                  input_panels * (part + 1) / inputs.parts});
      return;
    }
    const int d = static_cast<int>(i / weight_items);
    const int64_t item = i % weight_items;
    if (item < gate_items) {
      GateWeightGradient(layer, d, gates.at(item / pieces), item % pieces, to[d]);
    } else if constexpr (std::is_same_v<T, E>) {
      ProjectionGradient(layer, d, units.at(item - gate_items), to[d]);
    }
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_BACKWARD_PRODUCTS_H_
