// The backward time loop of one layer, for a slice of the batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cc/core/checked_math.h"
#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/lstm.h"
#include "cc/cpu/cell/lstm_layer_norm.h"
#include "cc/cpu/pass/backward/layer.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/slice.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/transposed.h"
#include "cc/cpu/rows/masks.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The gradients of the weights of cells besides their matrices: peepholes and normalizations.

// The gradients of the three rows for unit block u: the sums of di * c_prev, df * c_prev and
// do * c. See Note [Deterministic reductions].
template <typename T>
void PeepholeGradient(const BackwardLayer<T>& layer, int64_t u, T* const (&to)[3]) {
  using Gate = Lstm<UsualGates>::Gate;
  constexpr int V = kLanes<T>;
  const Sizes<T>& s = layer.sizes;
  const BackwardDirection<T>& dir = layer.dirs[0];
  const int64_t R = layer.seq->rows, n = s.units - u * V;
  const T* const dgates = reinterpret_cast<const T*>(dir.dgates);
  Packet<T> total[3] = {Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0))};
  for (int64_t row0 = 0; row0 < R; row0 += kReductionRows) {
    Packet<T> sum[3] = {Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0))};
    ForPackedRows(*layer.seq, row0, std::min(R, row0 + kReductionRows),
                  [&](int64_t row, int64_t t, int64_t j) {
                    const T* dg = dgates + row * s.gate_row + u * 4 * V;
                    const int64_t before = PreviousStep(*layer.seq, /*dir=*/0, t, j);
                    const Packet<T> c_prev = LoadFirst(
                        before < 0 ? dir.c0 + j * s.padded + u * V
                                   : dir.c + (layer.seq->start[before] + j) * layer.c_row + u * V,
                        n);
                    sum[0] = pmadd(Load(dg + Gate::kInput * V), c_prev, sum[0]);
                    sum[1] = pmadd(Load(dg + Gate::kForget * V), c_prev, sum[1]);
                    sum[2] = pmadd(Load(dg + Gate::kOutput * V),
                                   LoadFirst(dir.c + row * layer.c_row + u * V, n), sum[2]);
                  });
    for (int k = 0; k < 3; ++k) total[k] = padd(total[k], sum[k]);
  }
  for (int k = 0; k < 3; ++k) StoreFirst(to[k] + u * V, total[k], n);
}

// The gradients of the three rows for all units.
template <typename T>
void PeepholeGradients(const BackwardLayer<T>& layer, T* const (&to)[3],
                       const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  const int64_t ns = NsToMove(Area(layer.seq->rows, s.gate_row) * int64_t{sizeof(T)});
  Parallel(parallel, s.blocks, ns, [&](int64_t u) { PeepholeGradient(layer, u, to); });
}

// The gradients of layer_norm and of the bias (null: no bias). The time loop has computed the sum
// over the steps of each sequence. These sums are added in the order of the sequences, so the bits
// of the result do not depend on the threads.
template <typename T>
void LayerNormGradients(const BackwardLayer<T>& layer, T* to, T* bias,
                        const ParallelFor& parallel) {
  constexpr int V = kLanes<T>;
  const Sizes<T>& s = layer.sizes;
  const int64_t batch = layer.seq->batch, row_size = LayerNormElements(s);
  const int64_t ns = NsToMove(Area(batch, row_size) * int64_t{sizeof(T)});
  Parallel(parallel, s.blocks, ns, [&](int64_t u) {
    const T* sums = layer.dirs[0].norm_sums + u * kLayerNormVectors * V;
    Packet<T> total[kLayerNormVectors];
    for (auto& t : total) t = Set<T>(T(0));
    for (int64_t j = 0; j < batch; ++j, sums += row_size) {
      for (int k = 0; k < kLayerNormVectors; ++k) total[k] = padd(total[k], Load(sums + k * V));
    }
    const int64_t n = s.units - u * V;
    auto store = [&](T* rows, int row, int from) {
      StoreFirst(rows + row * s.units + u * V, total[from], n);
    };
    for (int gate = 0; gate < 4; ++gate) {
      store(to, kGammaX + gate, kScaleX + gate);
      store(to, kGammaH + gate, kScaleH + gate);
      store(to, kBetaX + gate, kShift + gate);
      store(to, kBetaH + gate, kShift + gate);
      if (bias != nullptr) store(bias, gate, kShift + gate);
    }
    store(to, kGammaC, kScaleC);
    store(to, kBetaC, kShiftC);
  });
}

// The backward time loop of one layer, for a slice of the batch or a partition of the units.

// A slice of one direction, backwards through time.
template <typename T>
class BackwardSlice : public Slice<T, BackwardLayer<T>> {
  using Base = Slice<T, BackwardLayer<T>>;
  using Base::Alive, Base::layer_, Base::seq_, Base::s_, Base::dir_, Base::d_, Base::p_;
  using Base::j0_, Base::j1_, Base::pseudo_layer_, Base::steps_, Base::y_at_;

 public:
  BackwardSlice(const BackwardLayer<T>& layer, const SliceRange& range)
      : Base(layer, range, range.j0 + range.worker * layer.seq->batch) {}

  void Begin() const {}

  int64_t stages() const { return steps_ + 1; }

  // Runs a stage for the units of a partition of the dense panels of h: computes dh from the
  // gradients of the gates of the step visited last, and then the gradients of the gates of the
  // next step.
  void RunStage(int64_t stage, const Share& share) {
    const Range panels = share.Of(DensePanels<T>(s_.units));
    const UnitRange range = UnitsOfDensePanels<T>(panels.begin, panels.end, s_.units);
    if (stage == 0) LoadStates(range);
    if (stage > 0) HiddenGradient(TimeOf(stage - 1), panels.begin, panels.end);
    if (stage < steps_) {
      const int64_t t = TimeOf(stage);
      if (s_.proj > 0) ProjectBack(t);
      layer_.cells.run(*this, layer_.cells.tensors, t, range);
      if (layer_.cells.after_second != nullptr) SecondProductBack(t, range);
    }
  }

  // The gradients of the gates at step t.
  template <typename Cell>
  static void RunCells(const BackwardSlice& slice, const void* tensors, int64_t t,
                       const UnitRange& units) {
    const auto& typed = *static_cast<const typename Cell::template Tensors<T>*>(tensors);
    for (int64_t j = slice.j0_; j < slice.j0_ + slice.Alive(t); ++j) {
      Cell::template Backward<T>(units, slice.template PastOf<Cell>(t, j),
                                 slice.template RowOf<Cell>(t, j), typed);
    }
  }

  // Completes the gradients of the gates after the gradient of m has been computed.
  template <typename Cell>
  static void CellsAfterSecond(const BackwardSlice& slice, const void* tensors, int64_t t,
                               const UnitRange& units) {
    const auto& typed = *static_cast<const typename Cell::template Tensors<T>*>(tensors);
    for (int64_t j = slice.j0_; j < slice.j0_ + slice.Alive(t); ++j) {
      Cell::template BackAfterSecond<T>(units, slice.template PastOf<Cell>(t, j),
                                        slice.template RowOf<Cell>(t, j), typed);
    }
  }

  // Writes the gradients of the initial states after all stages are done.
  void Finish() {
    for (int64_t j = j0_; j < j1_; ++j) {
      const int64_t b = seq_.perm[j];
      std::memcpy(layer_.dh0.at(pseudo_layer_, b), dir_.dh + j * s_.hidden_padded,
                  sizeof(T) * s_.hidden);
      if (s_.cell.has_c) {
        std::memcpy(layer_.dc0.at(pseudo_layer_, b), dir_.dc + j * s_.padded, sizeof(T) * s_.units);
      }
    }
  }

 private:
  int64_t TimeOf(int64_t step) const { return d_ == 0 ? steps_ - 1 - step : step; }

  // The gradients of the gates of a packed row, beginning at its value `at`.
  GateGradients<T> DGates(int64_t row, int64_t at = 0) const {
    const int64_t value = row * s_.gate_row + at;
    if (s_.operands == OperandType::kPairs) {
      return {nullptr, reinterpret_cast<BFloat16Bits*>(dir_.dgates) + value};
    }
    return {reinterpret_cast<T*>(dir_.dgates) + value, nullptr};
  }

  void LoadStates(const UnitRange& units) {
    // Gradients of final states that are not passed are zero.
    auto load = [](const StateRows<const T>& states, int64_t row, int64_t b, const UnitRange& range,
                   T* dst) {
      if (states) {
        const T* src = states.at(row, b);
        std::copy(src + range.begin, src + range.end, dst + range.begin);
      } else {
        std::fill(dst + range.begin, dst + range.end, T(0));
      }
      std::fill(dst + range.end, dst + RoundUp(range.end, kLanes<T>), T(0));
    };
    // With projection, h is not in units; then the slice has only one partition.
    const UnitRange hidden = s_.proj > 0 ? UnitRange{0, s_.hidden, s_.hidden} : units;
    for (int64_t j = j0_; j < j1_; ++j) {
      const int64_t b = seq_.perm[j];
      load(layer_.dh_n, pseudo_layer_, b, hidden, dir_.dh + j * s_.hidden_padded);
      if (s_.cell.has_c) {
        load(layer_.dc_n, pseudo_layer_, b, units, dir_.dc + j * s_.padded);
        load(layer_.c0, pseudo_layer_, b, units, dir_.c0 + j * s_.padded);
      }
      if (s_.cell.whole_rows) {
        T* const sums = NormSums(j);
        std::fill(sums, sums + s_.padded * kLayerNormVectors, T(0));
      }
    }
  }

  // dh (+)= dgates * R^T
  void HiddenGradient(int64_t t, int64_t panel0, int64_t panel1) {
    if (s_.proj > 0) panel0 = 0, panel1 = DensePanels<T>(s_.hidden);  // see BackwardSplit
    const int64_t n = Alive(t);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = seq_.start[t] + j0_ + i;
      p_.dgates[i] = layer_.DGates(d_, row, s_.recurrent_part);
      p_.dh[i] = dir_.dh + (j0_ + i) * s_.hidden_padded;
    }
    const RunsOfK k = GateRuns(s_, /*recurrent=*/true);
    RowGemm<T> g = {p_.dgates, p_.dh, n, k, dir_.recurrent, s_.hidden_padded};
    g.operands = s_.operands;
    g.start = s_.cell.carries_h ? Start::kAccumulate : Start::kZero;
    g.batch = BatchRowsOf(seq_.batch);
    g.reversed = t % 2 != 0;
    if (layer_.recurrent_masks) return MaskedHiddenGradient(g, panel0, panel1);
    GemmDense(g, panel0, panel1);
  }

  void MaskedHiddenGradient(RowGemm<T> g, int64_t panel0, int64_t panel1) {
    // Masks have H elements, but rows of dh are padded. The padding of dh is never used.
    g.columns = s_.hidden;
    MaskedGateProduct(
        s_, /*recurrent=*/true, g, panel0, panel1, p_.masks,
        [&](int gate, int64_t i) { return layer_.recurrent_masks.row(gate, seq_.perm[j0_ + i]); });
  }

  // Computes the whole gradient of h, and dm = dh * W_proj^T.
  void ProjectBack(int64_t t) {
    const int64_t n = Alive(t);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = j0_ + i;
      const T* dh = dir_.dh + j * s_.hidden_padded;
      const T* dy = layer_.dy.at(t, j) + y_at_;
      T* total = dir_.dh_total + (seq_.start[t] + j) * s_.hidden_padded;
      for (int64_t u = 0; u < s_.hidden; u += kLanes<T>) {
        Store(total + u, LoadGradient(dh, dy, u, s_.hidden));
      }
      if (layer_.h_limit < std::numeric_limits<T>::infinity()) {
        ClearBeyondLimit(layer_.y.at(t, j) + y_at_, total);
      }
      p_.total[i] = total;
      p_.dm[i] = dir_.dm + j * s_.padded;
    }
    RowGemm<T> g = {p_.total, p_.dm, n, RunsOfK::Dense(s_.proj), dir_.second, s_.padded};
    g.batch = BatchRowsOf(seq_.batch);
    GemmDense(g, 0, DensePanels<T>(s_.units));
  }

  // Clears the gradient where h has been clipped.
  void ClearBeyondLimit(const T* h, T* gradient) const {
    const Packet<T> limit = Set<T>(layer_.h_limit);
    for (int64_t u = 0; u < s_.hidden; u += kLanes<T>) {
      const Packet<T> size = Abs(LoadFirst(h + u, s_.hidden - u));
      Store(gradient + u, Select(LessOrEqual(limit, size), Set<T>(T(0)), Load(gradient + u)));
    }
  }

  // Computes dm = dgate * W^T of the cell's second product and completes the gradients of the
  // gates.
  void SecondProductBack(int64_t t, const UnitRange& units) {
    const int64_t n = Alive(t);
    const int64_t row0 = seq_.start[t] + j0_;
    for (int64_t i = 0; i < n; ++i) {
      p_.dgates[i] = layer_.DGates(d_, row0 + i);
      p_.dm[i] = dir_.dm + (j0_ + i) * s_.padded;
    }
    constexpr int V = kLanes<T>;
    const RunsOfK k = RunsOfK::Pieces(V, s_.blocks, s_.cell.second_at * V, s_.cell.buffer * V);
    RowGemm<T> g = {p_.dgates, p_.dm, n, k, dir_.second, s_.padded};
    g.batch = BatchRowsOf(seq_.batch);
    GemmDense(g, 0, DensePanels<T>(s_.units));
    auto mask = [&](int64_t i, T* row) {
      if (!layer_.recurrent_masks) return;
      ScaleRow(layer_.recurrent_masks.row(s_.cell.second_gate, seq_.perm[j0_ + i]), 0, s_.units,
               row);
    };
    for (int64_t i = 0; i < n; ++i) mask(i, p_.dm[i]);
    layer_.cells.after_second(*this, layer_.cells.tensors, t, units);
    for (int64_t i = 0; i < n; ++i) mask(i, dir_.m + (row0 + i) * s_.padded);
  }

  // The row of c of a step; t < 0: before the first step.
  const T* RowOfC(int64_t t, int64_t j) const {
    return t < 0 ? dir_.c0 + j * s_.padded : dir_.c + (seq_.start[t] + j) * layer_.c_row;
  }

  T* NormSums(int64_t j) const { return dir_.norm_sums + j * s_.padded * kLayerNormVectors; }

  template <typename Cell>
  PastRow<T> PastOf(int64_t t, int64_t j) const {
    constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
    PastRow<T> r = {};
    r.row = seq_.start[t] + j;
    r.h = layer_.y.at(t, j) + y_at_;
    if constexpr (kFormat.saves_gates) r.gates = dir_.gates + r.row * s_.gate_row;
    if constexpr (kFormat.carries_h) r.h_prev = layer_.HBefore(d_, t, j);
    if constexpr (kFormat.has_c) {
      r.c_prev = RowOfC(PreviousStep(seq_, d_, t, j), j);
      r.c = RowOfC(t, j);
    }
    if constexpr (kFormat.whole_rows) r.recurrent_gates = r.gates + s_.recurrent_part;
    return r;
  }

  template <typename Cell>
  GradientRow<T> RowOf(int64_t t, int64_t j) const {
    constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
    const int64_t row = seq_.start[t] + j;
    GradientRow<T> r = {};
    r.dgates = DGates(row);
    if constexpr (kFormat.has_c) r.dc = dir_.dc + j * s_.padded;
    if constexpr (kFormat.whole_rows) {
      r.recurrent_dgates = DGates(row, s_.recurrent_part);
      r.norm_sums = NormSums(j);
    }
    if (s_.has_second_product()) r.m = dir_.m + row * s_.padded;
    if (s_.proj > 0) {
      r.dh = dir_.dm + j * s_.padded;
    } else {
      r.dm = dir_.dm + j * s_.padded;
      r.dh = dir_.dh + j * s_.hidden_padded;
      r.dy = layer_.dy.at(t, j) + y_at_;
    }
    return r;
  }
};

// The runner of a cell. `tensors` must live longer than the runner.
template <typename Cell, typename T>
GradientRunner<T> GradientRunnerOf(const typename Cell::template Tensors<T>* tensors) {
  using Slice = BackwardSlice<T>;
  constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
  GradientRunner<T> runner;
  runner.tensors = tensors;
  runner.run = &Slice::template RunCells<Cell>;
  if constexpr (kFormat.has_second_gate())
    runner.after_second = &Slice::template CellsAfterSecond<Cell>;
  return runner;
}

// Runs the time loops of all directions of a layer.
template <typename T>
void RunBackwardRecurrence(const BackwardLayer<T>& layer, const Split& split,
                           const ParallelFor& parallel) {
  RunSlices(*layer.seq, layer.sizes.num_dirs, split, parallel,
            [&](const SliceRange& range) { return BackwardSlice<T>(layer, range); });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
