// A slice of the batch, or a share of its units, back through the time steps of one layer and
// direction.
#ifndef TF_RNN_OPS_CC_CPU_PASS_BACKWARD_SLICE_H_
#define TF_RNN_OPS_CC_CPU_PASS_BACKWARD_SLICE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cc/cpu/cell/cells_backward.h"
#include "cc/cpu/pass/model.h"
#include "cc/cpu/pass/slice_pointers.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/rows/gate_masks.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

// One direction of one layer.
template <typename T, typename E = T>
struct BackwardDirection {
  // Weights with the gates as K, dense panels.
  E* input;       // N = in
  E* recurrent;   // N = S
  E* projection;  // K = P, N = H
  // Gradients of the forward panels, same sizes as PackedWeights.
  PackedWeights<T> gradient;
  E* dgates;     // [R, gate_row]
  E* reduction;  // ReductionSpace() of each gate panel, then of each dense panel of the projection
  T* dh;         // [B, hidden_padded]
  T* dc;         // LSTM: [B, padded]
  T* c0;         // LSTM: [B, padded]
  T* dm;         // projection: [B, padded]
  T* dh_total;   // projection: [R, hidden_padded], the whole gradient of h
  T* m;          // projection: [R, padded], h before it is projected
  E* operand_h;  // what its weight gradient reads of h before each step, where that is not h
  const T* gates;  // from the reserve space
  const T* c;
};

template <typename T, typename E = T>
struct BackwardLayer {
  const Sequence* seq;
  Sizes<T> sizes;
  int64_t in;
  bool skip_input;
  GateMasks<T> input_masks;
  GateMasks<T> recurrent_masks;
  E* operand_x;  // what the weight gradient reads of x, where that is not x
  RowMap<const T> x;
  RowMap<const T> y;
  RowMap<const T> dy;
  RowMap<T> dx;
  StateRows<const T> h0, c0, dh_n, dc_n;
  StateRows<T> dh0, dc0;
  int64_t first_pseudo_layer;
  BackwardDirection<T, E> dirs[2];
  SlicePointers<T, E> pointers[2];

  const T* HBefore(int d, int64_t t, int64_t j) const {
    const int64_t before = PreviousStep(*seq, d, t, j);
    return before < 0 ? h0.at(first_pseudo_layer + d, seq->perm[j])
                      : y.at(before, j) + d * sizes.hidden;
  }
};

// The K of a product over rows of dgates: all of it, or GRU's three vectors of each unit block.
template <typename T, typename E>
void SetGateRuns(const Sizes<T>& s, bool recurrent, RowGemm<T, E>* g) {
  constexpr int V = kLanes<T> / kPerOperand<E>;
  if (s.mode == kModeGru) {
    g->run = 3 * V;
    g->runs = s.blocks;
    g->run_stride = 4 * V;
    g->a_offset = (recurrent ? s.gates.recurrent_at : s.gates.input_at) * V;
  } else {
    g->run = s.gate_row / kPerOperand<E>;
  }
}

// C (+)= sum over gates of mask * (dgates * W^T), panels [panel0, panel1) of a dense product that
// is complete but for its K. scale_of(gate, i) gives the mask's row for row i of C; `scale` has
// room for g.rows pointers.
template <typename T, typename ScaleOf>
void MaskedGateProduct(const Sizes<T>& s, bool recurrent, RowGemm<T> g, int64_t panel0,
                       int64_t panel1, const T** scale, ScaleOf&& scale_of) {
  constexpr int V = kLanes<T>;
  const GateOrder& order = recurrent ? s.gates.recurrent : s.gates.input;
  g.scale = scale;
  g.b_depth = s.padded * order.count;
  for (int v = 0; v < order.count; ++v) {
    for (int64_t i = 0; i < g.rows; ++i) scale[i] = scale_of(order.source[v], i);
    if (order.count == 1) {
      g.run = s.gate_row;
    } else {
      g.run = V;
      g.runs = s.blocks;
      g.run_stride = s.gates.buffer * V;
      g.a_offset = ((recurrent ? s.gates.recurrent_at : s.gates.input_at) + v) * V;
      g.b_first = v * V;
      g.b_run_stride = order.count * V;
    }
    GemmDense(g, panel0, panel1);
    g.start = Start::kAccumulate;
  }
}

// Sorted rows [j0, j1) of one direction, backwards through time.
template <typename T, typename E = T>
class BackwardSlice {
 public:
  BackwardSlice(const BackwardLayer<T, E>& layer, int dir, int64_t j0, int64_t j1,
                const SlicePointers<T, E>& pointers)
      : layer_(layer),
        seq_(*layer.seq),
        s_(layer.sizes),
        dir_(layer.dirs[dir]),
        d_(dir),
        pseudo_layer_(layer.first_pseudo_layer + dir),
        y_at_(dir * layer.sizes.hidden),
        j0_(j0),
        j1_(j1),
        p_(pointers),
        steps_(j0 < j1 ? layer.seq->length[j0] : 0) {}

  int64_t stages() const { return steps_ + 1; }

  // Stage k, for the units of dense panels [panel0, panel1) of h: dh from the gates' gradients of
  // the step visited last, then the gates' gradients of the next one.
  void Run(int64_t stage, int64_t panel0, int64_t panel1) {
    constexpr int64_t kPanelUnits = 4 * kLanes<T>;
    const UnitRange range = {panel0 * kPanelUnits, std::min(s_.units, panel1 * kPanelUnits),
                             s_.units};
    if (stage == 0) LoadStates(range);
    if (stage > 0) HiddenGradient(TimeOf(stage - 1), panel0, panel1);
    if (stage < steps_) {
      const int64_t t = TimeOf(stage);
      if (s_.proj > 0) ProjectBack(t);
      for (int64_t j = j0_; j < std::min(j1_, seq_.alive(t)); ++j) GateGradients(t, j, range);
    }
  }

  // The gradients of the initial states, once all stages are done.
  void Finish() {
    for (int64_t j = j0_; j < j1_; ++j) {
      const int64_t b = seq_.perm[j];
      std::memcpy(layer_.dh0.at(pseudo_layer_, b), dir_.dh + j * s_.hidden_padded,
                  sizeof(T) * s_.hidden);
      if (!s_.lstm()) continue;
      std::memcpy(layer_.dc0.at(pseudo_layer_, b), dir_.dc + j * s_.padded, sizeof(T) * s_.units);
    }
  }

 private:
  int64_t TimeOf(int64_t step) const { return d_ == 0 ? steps_ - 1 - step : step; }

  void LoadStates(const UnitRange& units) {
    auto load = [](const T* src, int64_t begin, int64_t end, T* dst) {
      std::copy(src + begin, src + end, dst + begin);
      std::fill(dst + end, dst + RoundUp(end, kLanes<T>), T(0));
    };
    // With projection h is not in units; the slice then has only one share.
    const UnitRange hidden = s_.proj > 0 ? UnitRange{0, s_.hidden, s_.hidden} : units;
    for (int64_t j = j0_; j < j1_; ++j) {
      const int64_t b = seq_.perm[j];
      load(layer_.dh_n.at(pseudo_layer_, b), hidden.begin, hidden.end,
           dir_.dh + j * s_.hidden_padded);
      if (!s_.lstm()) continue;
      load(layer_.dc_n.at(pseudo_layer_, b), units.begin, units.end, dir_.dc + j * s_.padded);
      load(layer_.c0.at(pseudo_layer_, b), units.begin, units.end, dir_.c0 + j * s_.padded);
    }
  }

  // dh (+)= dgates * R^T
  void HiddenGradient(int64_t t, int64_t panel0, int64_t panel1) {
    const int64_t n = std::min(j1_, seq_.alive(t)) - j0_;
    for (int64_t i = 0; i < n; ++i) {
      p_.x[i] = dir_.dgates + OperandsOf<E>((seq_.start[t] + j0_ + i) * s_.gate_row);
      p_.h[i] = dir_.dh + (j0_ + i) * s_.hidden_padded;
    }
    RowGemm<T, E> g;
    g.a = p_.x;
    g.c = p_.h;
    g.rows = n;
    g.b = dir_.recurrent;
    g.columns = s_.hidden_padded;
    g.panel_stride = 4 * kLanes<T>;
    g.start = s_.mode == kModeGru ? Start::kAccumulate : Start::kZero;
    g.few_rows = FewRows(seq_.batch);
    g.reversed = t % 2 != 0;
    if constexpr (std::is_same_v<T, E>) {
      if (layer_.recurrent_masks) return MaskedHiddenGradient(g, panel0, panel1);
    }
    SetGateRuns(s_, /*recurrent=*/true, &g);
    GemmDense(g, s_.proj > 0 ? 0 : panel0, s_.proj > 0 ? DensePanels<T>(s_.hidden) : panel1);
  }

  void MaskedHiddenGradient(RowGemm<T, E> g, int64_t panel0, int64_t panel1) {
    // Masks end at H, where rows of dh are padded. What dh has there is never used.
    g.columns = s_.hidden;
    MaskedGateProduct(s_, /*recurrent=*/true, g, panel0, panel1, p_.a, [&](int gate, int64_t i) {
      return layer_.recurrent_masks.row(gate, seq_.perm[j0_ + i]);
    });
  }

  // The whole gradient of h, and dm = dh * W_proj^T.
  void ProjectBack(int64_t t) {
    const int64_t n = std::min(j1_, seq_.alive(t)) - j0_;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = j0_ + i;
      const T* dh = dir_.dh + j * s_.hidden_padded;
      const T* dy = layer_.dy.at(t, j) + y_at_;
      T* total = dir_.dh_total + (seq_.start[t] + j) * s_.hidden_padded;
      for (int64_t u = 0; u < s_.hidden; u += kLanes<T>) {
        Store(total + u, LoadGradient(dh, dy, u, s_.hidden));
      }
      p_.h_prev[i] = total;
      p_.c[i] = dir_.dm + j * s_.padded;
    }
    if constexpr (std::is_same_v<T, E>) {
      RowGemm<T> g;
      g.a = p_.h_prev;
      g.c = p_.c;
      g.rows = n;
      g.run = s_.proj;
      g.b = dir_.projection;
      g.columns = s_.padded;
      g.panel_stride = 4 * kLanes<T>;
      g.start = Start::kZero;
      g.few_rows = FewRows(seq_.batch);
      GemmDense(g, 0, DensePanels<T>(s_.units));
    }
  }

  void GateGradients(int64_t t, int64_t j, const UnitRange& units) {
    const int64_t row = seq_.start[t] + j;
    const T* gates = dir_.gates + row * s_.gate_row;
    E* dgates = dir_.dgates + OperandsOf<E>(row * s_.gate_row);
    T* dh = dir_.dh + j * s_.hidden_padded;
    const T* dy = layer_.dy.at(t, j) + y_at_;
    switch (s_.mode) {
      case kModeLstm: {
        const int64_t before = PreviousStep(seq_, d_, t, j);
        const T* c_prev =
            before < 0 ? dir_.c0 + j * s_.padded : dir_.c + (seq_.start[before] + j) * s_.padded;
        const T* c = dir_.c + row * s_.padded;
        T* dc = dir_.dc + j * s_.padded;
        if (s_.proj > 0) {
          LstmRowBackward<T, E>(units, gates, c_prev, c, dir_.dm + j * s_.padded, nullptr, dc,
                                dgates, dir_.m + row * s_.padded);
        } else {
          LstmRowBackward<T, E>(units, gates, c_prev, c, dh, dy, dc, dgates, nullptr);
        }
        break;
      }
      case kModeGru:
        GruRowBackward<T, E>(units, gates, layer_.HBefore(d_, t, j), dh, dy, dgates);
        break;
      case kModeTanh:
        VanillaRowBackward<T, TanhActivation, E>(units, layer_.y.at(t, j) + y_at_, dh, dy, dgates);
        break;
      default:
        VanillaRowBackward<T, ReluActivation, E>(units, layer_.y.at(t, j) + y_at_, dh, dy, dgates);
        break;
    }
  }

  const BackwardLayer<T, E>& layer_;
  const Sequence& seq_;
  const Sizes<T>& s_;
  const BackwardDirection<T, E>& dir_;
  const int d_;
  const int64_t pseudo_layer_;
  const int64_t y_at_;
  const int64_t j0_, j1_;
  const SlicePointers<T, E> p_;
  const int64_t steps_;
};

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PASS_BACKWARD_SLICE_H_
