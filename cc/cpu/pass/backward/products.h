// The products over all rows that follow the backward time loop: dx and the gradients of the
// weights.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/core/checked_math.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/gradients.h"
#include "cc/cpu/pass/backward/layer.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The gate panels (or dense panels of units) that one item of work reduces together. All panels of
// an item have the same width; the last dense panel may have fewer vectors, so it is a separate
// item.
class PanelRanges {
 public:
  PanelRanges(int64_t panels, bool last_is_partial, int64_t size)
      : panels_(panels), whole_(last_is_partial ? panels - 1 : panels), size_(size) {}

  int64_t count() const { return CeilDiv(whole_, size_) + panels_ - whole_; }
  Range at(int64_t i) const {
    const int64_t begin = std::min(i * size_, whole_);
    return {begin, begin < whole_ ? std::min(begin + size_, whole_) : panels_};
  }

 private:
  const int64_t panels_;
  const int64_t whole_;
  const int64_t size_;
};

// Columns of one factor of a reduction.
struct FactorColumns {
  int64_t first;
  int64_t count;
};

// Piece `piece` of `pieces` of the columns of one factor. The factors are side by side; this factor
// has `columns` columns and begins at column `at`. Pieces begin at multiples of the tiles of
// GemmTransposed.
inline FactorColumns PieceOfFactor(int64_t piece, int64_t pieces, int64_t all, int64_t at,
                                   int64_t columns) {
  auto cut = [&](int64_t i) { return i == pieces ? all : all * i / pieces / 24 * 24; };
  const int64_t begin = std::clamp(cut(piece) - at, int64_t{0}, columns);
  return {begin, std::clamp(cut(piece + 1) - at, int64_t{0}, columns) - begin};
}

// The gradients of the weights and biases of gate panels. If the rows are split into pieces, the
// gradients of one piece.
template <typename T>
class GateWeightGradient {
 public:
  GateWeightGradient(const BackwardLayer<T>& layer, int d, const Range& range, int64_t piece,
                     const WeightViews<T>& to)
      : layer_(layer), s_(layer.sizes), dir_(layer.dirs[d]), d_(d), range_(range), piece_(piece) {
    SetFactors(to.input.data == nullptr ? 0 : layer.in);
    Reduce();
    Unpack(kX, s_.cell.input, to.input, to.input_bias);
    Unpack(kH, s_.cell.recurrent, to.recurrent, to.recurrent_bias);
    Unpack(kM, GateOrder{1, {0}}, to.second, nullptr);
  }

 private:
  // x, h before each step, and the input m of the cell's second product.
  enum Factor { kX, kH, kM, kFactors };
  static constexpr int V = kLanes<T>;
  using Factors = ReductionFactor<T>[kFactors];

  // Computes the columns of this piece in each factor. `in`: the number of columns of x that have
  // weights.
  void SetFactors(int64_t in) {
    vectors_ = s_.dense ? PanelVectors(s_.blocks, range_.begin) : s_.cell.buffer;
    const int64_t units = s_.cell.has_second_gate() ? s_.units : 0;
    const int64_t all = in + s_.hidden + units;
    SetFactor(kX, all, /*before=*/0, in, s_.cell.input_at, s_.cell.input.count,
              static_cast<bool>(layer_.input_masks), dir_.gradient.input);
    SetFactor(kH, all, in, s_.hidden, s_.cell.recurrent_at, s_.cell.recurrent.count,
              static_cast<bool>(layer_.recurrent_masks), dir_.gradient.recurrent);
    SetFactor(kM, all, in + s_.hidden, units, s_.cell.second_at, /*gates=*/1, /*masked=*/false,
              dir_.gradient.second);
  }

  // `all`: the columns of all factors, with `before` columns of other factors before the `columns`
  // of this one. `at`, `gates`: the vectors of dgates that belong to it, in a panel of gates.
  // `gradient`: the panels of its weight gradient.
  void SetFactor(Factor f, int64_t all, int64_t before, int64_t columns, int at, int gates,
                 bool masked, T* gradient) {
    const FactorColumns cut = PieceOfFactor(piece_, layer_.weight_pieces, all, before, columns);
    ReductionFactor<T>& factor = factors_[f];
    factor.columns = cut.count;
    factor.first_vector = at;
    factor.vectors = s_.dense ? vectors_ : gates;
    factor.result_stride = columns * (s_.dense ? 4 : gates) * V;
    factor.result = gradient + range_.begin * factor.result_stride + cut.first * factor.vectors * V;
    factor.gated = masked && !s_.dense;
    first_[f] = cut.first;
  }

  void Reduce() {
    if (!s_.cell.whole_rows) return ReduceRows(0, factors_, piece_ == 0 ? bias_ : nullptr);
    // Each factor has separate gradients. LayerNormGradients computes the gradients of the biases.
    for (Factor f : {kX, kH}) {
      Factors one = {factors_[kX], factors_[kH], factors_[kM]};
      one[kX + kH - f].columns = one[kM].columns = 0;
      if (one[f].columns > 0) ReduceRows(f * s_.recurrent_part, one, nullptr);
    }
  }

  // `at`: the first value of dgates in a row.
  void ReduceRows(int64_t at, const Factors& factors, T* bias) const {
    WithGradientOperand<T>(s_.operands, [&](auto e) {
      using E = decltype(e);
      const ReductionPanels panels = {range_.begin * s_.panel_vectors() * V,
                                      static_cast<int>(range_.end - range_.begin), vectors_};
      E* const space = reinterpret_cast<E*>(dir_.reduction) +
                       (range_.begin * layer_.weight_pieces + piece_ * panels.count) *
                           ReductionSpace<T>(s_.operands, layer_.seq->rows);
      ReducePanels(*layer_.seq, reinterpret_cast<const E*>(layer_.DGates(d_, 0, at)), s_.gate_row,
                   panels, factors, bias, space, [this](int64_t row, int64_t t, int64_t j, int f) {
                     return Row<E>(row, t, j, f);
                   });
    });
  }

  // A row of a factor, beginning at the first column of this piece.
  template <typename E>
  const E* Row(int64_t row, int64_t t, int64_t j, int factor) const {
    if constexpr (!kIsGroup<E>) {
      if (factor == kM) return dir_.m + row * s_.padded + first_[kM];
      if (factor == kX && !layer_.input_masks) return layer_.x.at(t, j) + first_[kX];
      if (factor == kH && !layer_.recurrent_masks) return layer_.HBefore(d_, t, j) + first_[kH];
    }
    auto copy = [&](const char* copies, int64_t width, const GateOrder& order) {
      return ReductionCopy(reinterpret_cast<const E*>(copies), row, width, order, first_[factor]);
    };
    return factor == kX ? copy(layer_.operand_x, layer_.in, s_.cell.input)
                        : copy(dir_.operand_h, s_.hidden, s_.cell.recurrent);
  }

  // Unpacks the panels of a factor to the gradients of its weights and of its bias (null: no bias).
  void Unpack(Factor f, const GateOrder& order, const MatrixView<T>& to, T* bias) const {
    const ReductionFactor<T>& factor = factors_[f];
    const T* sums = bias_ + factor.first_vector * V;
    if (factor.columns > 0) UnpackMatrix(factor, order, to.At(first_[f], 0));
    if (bias == nullptr || piece_ > 0) return;
    for (int64_t panel = range_.begin; panel < range_.end; ++panel, sums += vectors_ * V) {
      for (int v = 0; v < factor.vectors; ++v) {
        // Vector v of the panel is one gate of unit block `block`.
        const int64_t block = s_.dense ? 4 * panel + v : panel;
        const int64_t column = (s_.dense ? 0 : order.source[v] * s_.units) + block * V;
        StoreFirst(bias + column, Load(sums + v * V), s_.units - block * V);
      }
    }
  }

  void UnpackMatrix(const ReductionFactor<T>& factor, const GateOrder& order,
                    const MatrixView<T>& to) const {
    if (!s_.dense) {
      return UnpackGatePanels(factor.result, factor.result_stride, factor.columns, s_.units, order,
                              range_.begin, range_.end, to);
    }
    const T* panel = factor.result;
    for (int64_t p = range_.begin; p < range_.end; ++p, panel += factor.result_stride) {
      UnpackDensePanel(panel, factor.columns, s_.units, p, to);
    }
  }

  const BackwardLayer<T>& layer_;
  const Sizes<T>& s_;
  const BackwardDirection<T>& dir_;
  const int d_;
  const Range range_;
  const int64_t piece_;
  int vectors_ = 0;          // in a panel of dgates
  int64_t first_[kFactors];  // the first column of this piece
  Factors factors_;
  alignas(64) T bias_[kReductionPanels * 4 * V];
};

// The gradient of the projection for dense panels of units.
template <typename T>
void ProjectionGradient(const BackwardLayer<T>& layer, int d, const Range& range,
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
  T* const space = reinterpret_cast<T*>(dir.reduction) +
                   (s.panels() * layer.weight_pieces + range.begin) *
                       ReductionSpace<T>(OperandType::kExact, layer.seq->rows);
  ReducePanels(
      *layer.seq, dir.m, s.padded, panels, factors, static_cast<T*>(nullptr), space,
      [&](int64_t row, int64_t, int64_t, int) { return dir.dh_total + row * s.hidden_padded; });
  // The result is addressed as (p, unit), the target as (unit, p).
  const MatrixView<T> target = {to.second.data, to.second.n_stride, to.second.k_stride};
  for (int64_t panel = range.begin; panel < range.end; ++panel, result += size) {
    UnpackDensePanel(static_cast<const T*>(result), s.proj, s.units, panel, target);
  }
}

// Makes the operands that the weight gradients read instead of x and of h before each step.
template <typename T>
void MakeBackwardOperands(const BackwardLayer<T>& layer, const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  CopyReductionRows(*layer.seq, s.operands, layer.input_masks, s.cell.input, layer.in,
                    layer.operand_x, parallel,
                    [&](int64_t t, int64_t j) { return layer.x.at(t, j); });
  for (int d = 0; d < s.num_dirs; ++d) {
    CopyReductionRows(*layer.seq, s.operands, layer.recurrent_masks, s.cell.recurrent, s.hidden,
                      layer.dirs[d].operand_h, parallel,
                      [&](int64_t t, int64_t j) { return layer.HBefore(d, t, j); });
  }
}

// The products over all rows: dx and the gradients of weights and biases.
template <typename T>
void RunBackwardProducts(const BackwardLayer<T>& layer, const WeightViews<T>* to,
                         const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  const Sequence& seq = *layer.seq;
  MakeBackwardOperands(layer, parallel);
  const int64_t threads = parallel.threads.count;
  const int64_t input_panels = layer.skip_input ? 1 : DensePanels<T>(layer.in);
  const RowItems inputs = ChooseRowItems(seq.rows, input_panels, threads);
  const bool partial = s.blocks % 4 != 0;
  const int64_t pieces = layer.weight_pieces;
  auto ranges = [&](int64_t panels, bool last_is_partial) {
    return PanelRanges(panels, last_is_partial, PanelsOfItem(panels, kReductionPanels, threads));
  };
  const PanelRanges gates = ranges(s.panels(), s.dense && partial);
  const PanelRanges units = ranges(DensePanels<T>(s.units), partial);
  const int64_t gate_items = gates.count() * pieces;
  const int64_t weight_items = gate_items + (s.proj > 0 ? units.count() : 0);
  // With few rows, most of the time is spent writing the weight gradients.
  const int64_t weight_rows = (layer.skip_input ? 0 : layer.in) + s.hidden;
  const int64_t ns =
      NsToMultiply(2 * Area(Area(seq.rows, s.num_dirs * s.gate_part), layer.in + s.hidden)) +
      NsToMove(s.num_dirs * (weight_rows * s.gate_part + s.padded * s.second_columns) *
               int64_t{sizeof(T)});
  Parallel(parallel, s.num_dirs * weight_items + inputs.count, ns, [&](int64_t i) {
    if (i >= s.num_dirs * weight_items) {
      const int64_t item = i - s.num_dirs * weight_items;
      const int64_t row0 = item / inputs.parts * inputs.rows;
      const int64_t part = item % inputs.parts;
      InputGradient(
          layer, {row0, std::min(seq.rows, row0 + inputs.rows), input_panels * part / inputs.parts,
                  input_panels * (part + 1) / inputs.parts});
      return;
    }
    const int d = static_cast<int>(i / weight_items);
    const int64_t item = i % weight_items;
    if (item < gate_items) {
      GateWeightGradient<T>(layer, d, gates.at(item / pieces), item % pieces, to[d]);
    } else {
      ProjectionGradient(layer, d, units.at(item - gate_items), to[d]);
    }
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
