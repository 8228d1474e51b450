// A slice of the batch, or a share of its units, through the time steps of one layer and direction.
#ifndef TF_RNN_OPS_CC_CPU_PASS_FORWARD_SLICE_H_
#define TF_RNN_OPS_CC_CPU_PASS_FORWARD_SLICE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cc/core/stages.h"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/pass/model.h"
#include "cc/cpu/pass/slice_pointers.h"
#include "cc/cpu/product/dot.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/gate_masks.h"
#include "cc/cpu/rows/narrow_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

constexpr int64_t kChunkRows = 256;

// One direction of one layer.
template <typename T, typename E = T>
struct ForwardDirection {
  WeightSource<TensorOf<T, E>> source;
  PackedWeights<T, E> weights;  // only the biases in direct calls
  T* gates;                     // training: [R, gate_row]; otherwise a ring of chunk rows
  T* c;                         // LSTM in training: [R, padded]
  T* c0;                        // LSTM: [B, padded], the first c; without training updated in place
  T* m;             // [B, padded]: h before it is projected, or GRU's h before it is rounded
  E* operand_h[2];  // with masks or pairs: [B, operand_row] of even and of odd steps
};

template <typename T, typename E = T>
struct ForwardLayer {
  const Sequence* seq;
  Sizes<T> sizes;
  int64_t in;  // columns of x
  bool skip_input;
  bool keep;    // training: gate and c buffers hold all rows
  bool direct;  // the weights are not packed
  GateMasks<T> input_masks;
  GateMasks<T> recurrent_masks;
  int64_t operand_row;        // operands of h that the recurrent product reads; 0: h itself
  RowMap<const E> operand_x;  // what the input product reads
  RowMap<const T> x;
  RowMap<T> y;  // rows of [D, S]
  // Pairs: written in place of y where its base is not null. Its rows are what the next step's
  // product reads, so nothing is copied.
  RowMap<TensorOf<T, E>> rounded_y;
  StateRows<const T> h0;
  StateRows<const T> c0;
  StateRows<T> h_n;
  StateRows<T> c_n;
  int64_t first_pseudo_layer;
  ForwardDirection<T, E> dirs[2];
  SlicePointers<T, E> pointers[2];
};

// Sorted rows [j0, j1) of one direction, a chunk of steps and a range of panels at a time. Workers
// that share a slice (Note [Stages]) each have an object with pointers of their own.
template <typename T, typename E = T>
class ForwardSlice {
 public:
  ForwardSlice(const ForwardLayer<T, E>& layer, int dir, int64_t j0, int64_t j1,
               const SlicePointers<T, E>& pointers, T* ring)
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
        ring_(ring),
        steps_(j0 < j1 ? layer.seq->length[j0] : 0),
        chunk_(std::max<int64_t>(1, kChunkRows / std::max<int64_t>(1, j1 - j0))) {}

  int64_t steps() const { return steps_; }  // of the longest row
  // Whether the recurrent product reads something made of h.
  bool copies_h() const { return layer_.operand_row > 0; }

  // The initial states of the units of panels [panel0, panel1) that are updated in place.
  void LoadStates(int64_t panel0, int64_t panel1) {
    if (s_.lstm()) LoadRows(layer_.c0, panel0, panel1, dir_.c0);
    if (s_.mode == kModeGru && rounds()) LoadRows(layer_.h0, panel0, panel1, dir_.m);
  }

  // One step of the units of panels [panel0, panel1), with the input product of a whole chunk where
  // one begins.
  void Step(int64_t step, int64_t panel0, int64_t panel1) {
    if (step / chunk_ != prepared_chunk_) PrepareChunk(step / chunk_);
    if (step % chunk_ == 0) {
      PrepareInput(panel0, panel1);
    }
    const int64_t t = TimeOf(step);
    const int64_t n = Alive(t);
    PrepareStep(t, n);
    const PanelOrder order = {panel0, panel1, step % 2 != 0};
    T** gates = p_.gates + GateRow(step);
    if constexpr (!std::is_same_v<T, E>) {
      if (rounds()) {
        PrepareRoundedStep(t, n);
        RunCells(StepRows<T, TensorOf<T, E>>{p_.h_prev, gates, p_.c_prev, p_.c, p_.rounded_h}, n,
                 order);
        return;
      }
    }
    for (int64_t i = 0; copies_h() && i < n; ++i) p_.a[i] = OperandH(step, i);
    RunCells(StepRows<T>{p_.h_prev, gates, p_.c_prev, p_.c, p_.h}, n, order);
    if (!copies_h()) return;
    const int64_t panel_units = BlocksInPanel() * kLanes<T>;
    for (int64_t i = 0; i < n; ++i) {
      CopyH(j0_ + i, p_.h[i], panel0 * panel_units, std::min(s_.units, panel1 * panel_units),
            OperandH(step + 1, i));
    }
  }

  // What the product of each row's first step reads; before any worker starts.
  void CopyInitialStates() {
    for (int64_t j = j0_; j < j1_; ++j) {
      const T* h0 = layer_.h0.at(pseudo_layer_, seq_.perm[j]);
      for (int64_t parity = 0; parity < 2; ++parity) {
        CopyH(j, h0, 0, s_.hidden, OperandH(parity, j - j0_));
      }
    }
  }

  // h = m * W_proj for the dense panels [panel0, panel1) of P.
  void Project(int64_t step, int64_t panel0, int64_t panel1) {
    const int64_t t = TimeOf(step);
    const int64_t n = Alive(t);
    for (int64_t i = 0; i < n; ++i) {
      p_.h_prev[i] = dir_.m + (j0_ + i) * s_.padded;
      p_.h[i] = layer_.y.at(t, j0_ + i) + y_at_;
    }
    if constexpr (std::is_same_v<T, E>) {
      if (layer_.direct) return ProjectionDots(n, panel0, panel1);
      RowGemm<T> g;
      g.a = p_.h_prev;
      g.c = p_.h;
      g.rows = n;
      g.run = s_.units;
      g.b = dir_.weights.projection;
      g.columns = s_.proj;
      g.panel_stride = 4 * kLanes<T>;
      g.start = Start::kZero;
      g.few_rows = FewRows(seq_.batch);
      GemmDense(g, panel0, panel1);
    }
  }

  // The final states, once all steps are done.
  void Finish() {
    for (int64_t j = j0_; j < j1_; ++j) {
      const int64_t b = seq_.perm[j];
      const bool empty = seq_.length[j] == 0;
      const int64_t last = empty ? 0 : FinalStep(seq_, d_, j);
      T* h_n = layer_.h_n.at(pseudo_layer_, b);
      if (!empty && rounds()) {
        WidenRow(layer_.rounded_y.at(last, j) + y_at_, h_n);
      } else {
        std::memcpy(h_n, empty ? layer_.h0.at(pseudo_layer_, b) : layer_.y.at(last, j) + y_at_,
                    sizeof(T) * s_.hidden);
      }
      if (!s_.lstm()) continue;
      const T* c = empty         ? layer_.c0.at(pseudo_layer_, b)
                   : layer_.keep ? dir_.c + (seq_.start[last] + j) * s_.padded
                                 : dir_.c0 + j * s_.padded;
      std::memcpy(layer_.c_n.at(pseudo_layer_, b), c, sizeof(T) * s_.units);
    }
  }

 private:
  int64_t TimeOf(int64_t step) const { return d_ == 0 ? step : steps_ - 1 - step; }
  int64_t Alive(int64_t t) const { return std::min(j1_, seq_.alive(t)) - j0_; }

  // Whether rows of h are written in bfloat16.
  bool rounds() const { return layer_.rounded_y.base != nullptr; }

  void LoadRows(const StateRows<const T>& states, int64_t panel0, int64_t panel1, T* rows) const {
    const int64_t unit0 = panel0 * kLanes<T>;
    const int64_t unit1 = std::min(s_.units, panel1 * kLanes<T>);
    for (int64_t j = j0_; j < j1_; ++j) {
      const T* state = states.at(pseudo_layer_, seq_.perm[j]);
      T* row = rows + j * s_.padded;
      std::copy(state + unit0, state + unit1, row + unit0);
      std::fill(row + unit1, row + panel1 * kLanes<T>, T(0));
    }
  }

  void WidenRow(const TensorOf<T, E>* row, T* out) const {
    for (int64_t k = 0; k < s_.hidden; k += kLanes<T>) {
      StoreFirst(out + k, LoadWide<T>(row + k, s_.hidden - k), s_.hidden - k);
    }
  }

  int64_t BlocksInPanel() const { return s_.dense ? 4 : 1; }

  // What the product of a step reads for row j0 + i; workers write that of the next step meanwhile.
  E* OperandH(int64_t step, int64_t i) const {
    return dir_.operand_h[step % 2] + (j0_ + i) * layer_.operand_row;
  }

  // Units [begin, end) of a row of h, masked or rounded; begin is a multiple of V.
  void CopyH(int64_t j, const T* h, int64_t begin, int64_t end, E* out) const {
    if constexpr (std::is_same_v<T, E>) {
      MaskRow(layer_.recurrent_masks, s_.gates.recurrent, seq_.perm[j], h, begin, end, out);
    } else {
      NarrowRow(h, begin, end, out);
    }
  }

  // Row of the prepared chunk where the step's gates begin: those of the steps visited before it.
  int64_t GateRow(int64_t step) {
    const int64_t first = prepared_chunk_ * chunk_;
    if (gate_step_ < first || gate_step_ > step) gate_step_ = first, gate_row_ = 0;
    for (; gate_step_ < step; ++gate_step_) gate_row_ += Alive(TimeOf(gate_step_));
    return gate_row_;
  }

  void PrepareChunk(int64_t chunk) {
    prepared_chunk_ = chunk;
    chunk_rows_ = 0;
    const int64_t end = std::min(steps_, (chunk + 1) * chunk_);
    for (int64_t step = chunk * chunk_; step < end; ++step) {
      const int64_t t = TimeOf(step);
      const int64_t n = Alive(t);
      for (int64_t j = j0_; j < j0_ + n; ++j, ++chunk_rows_) {
        p_.x[chunk_rows_] = layer_.operand_x.at(t, j);
        p_.gates[chunk_rows_] = layer_.keep ? dir_.gates + (seq_.start[t] + j) * s_.gate_row
                                            : ring_ + chunk_rows_ * s_.gate_row;
      }
    }
  }

  void PrepareStep(int64_t t, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = j0_ + i;
      const int64_t before = PreviousStep(seq_, d_, t, j);
      if (!rounds()) {
        p_.h_prev[i] =
            before < 0 ? layer_.h0.at(pseudo_layer_, seq_.perm[j]) : layer_.y.at(before, j) + y_at_;
        p_.h[i] = s_.proj > 0 ? dir_.m + j * s_.padded : layer_.y.at(t, j) + y_at_;
      }
      if (!s_.lstm()) continue;
      if (layer_.keep) {
        p_.c_prev[i] =
            before < 0 ? dir_.c0 + j * s_.padded : dir_.c + (seq_.start[before] + j) * s_.padded;
        p_.c[i] = dir_.c + (seq_.start[t] + j) * s_.padded;
      } else {
        p_.c[i] = dir_.c0 + j * s_.padded;
        p_.c_prev[i] = p_.c[i];
      }
    }
  }

  void PrepareRoundedStep(int64_t t, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = j0_ + i;
      const int64_t before = PreviousStep(seq_, d_, t, j);
      p_.a[i] = before < 0 ? OperandH(0, i)
                           : reinterpret_cast<const E*>(layer_.rounded_y.at(before, j) + y_at_);
      p_.rounded_h[i] = layer_.rounded_y.at(t, j) + y_at_;
      if (s_.mode == kModeGru) p_.h_prev[i] = p_.c[i] = dir_.m + j * s_.padded;
    }
  }

  // The part of the gates that comes from x, for the rows of a chunk.
  void PrepareInput(int64_t panel0, int64_t panel1) {
    if constexpr (std::is_same_v<T, E>) {
      const int64_t block0 = panel0 * BlocksInPanel();
      const int64_t block1 = std::min(s_.blocks, panel1 * BlocksInPanel());
      if (layer_.skip_input) return AddInputToGates(block0, block1);
      if (layer_.direct) return InputDots(block0, block1);
    }
    InputProduct(panel0, panel1);
  }

  void InputProduct(int64_t panel0, int64_t panel1) {
    RowGemm<T, E> g;
    g.a = p_.x;
    g.c = p_.gates;
    g.rows = chunk_rows_;
    g.run = OperandsOf<E>(layer_.in);
    g.b = dir_.weights.input;
    g.bias = dir_.weights.bias;
    g.columns = s_.gate_row;
    g.panel_stride = 4 * kLanes<T>;
    g.start = Start::kBias;
    if (s_.dense) {
      GemmDense(g, panel0, panel1);
      return;
    }
    if constexpr (std::is_same_v<T, E>) {
      if (layer_.input_masks) return GatePanels<true>(g, panel0, panel1);
    }
    GatePanels<false>(g, panel0, panel1);
  }

  template <bool Gated>
  void GatePanels(const RowGemm<T, E>& g, int64_t panel0, int64_t panel1) {
    if (s_.mode == kModeGru) {
      GemmPanels<T, 3, Gated>(g, panel0, panel1);
    } else {
      GemmPanels<T, 4, Gated>(g, panel0, panel1);
    }
  }

  void InputDots(int64_t block0, int64_t block1) {
    constexpr int V = kLanes<T>;
    const GateOrder& order = s_.gates.input;
    if (dir_.source.input.n_stride == 1) {
      for (int64_t i = 0; i < chunk_rows_; ++i) {
        for (int64_t u = block0; u < block1; ++u) {
          const T* bias = dir_.weights.bias + u * order.count * V;
          T* g = p_.gates[i] + (u * s_.gates.buffer + s_.gates.input_at) * V;
          std::copy(bias, bias + order.count * V, g);
        }
        AddGateColumns(dir_.source.input, order, s_.gates.input_at, p_.x[i], layer_.in, block0,
                       block1, p_.gates[i]);
      }
      return;
    }
    for (int64_t i = 0; i < chunk_rows_; ++i) {
      for (int64_t u = block0; u < block1; ++u) {
        T* g = p_.gates[i] + (u * s_.gates.buffer + s_.gates.input_at) * V;
        for (int v = 0; v < order.count; ++v) {
          const T* w = dir_.source.input.At(0, order.source[v] * s_.units + u * V).data;
          const Packet<T> sum =
              DotRows(w, dir_.source.input.n_stride, s_.units - u * V, p_.x[i], layer_.in);
          Store(g + v * V, padd(Load(dir_.weights.bias + (u * order.count + v) * V), sum));
        }
      }
    }
  }

  // gates += row * w, on weights with contiguous columns.
  void AddGateColumns(const MatrixView<const T>& w, const GateOrder& order, int at, const T* row,
                      int64_t depth, int64_t block0, int64_t block1, T* gates) {
    constexpr int V = kLanes<T>;
    const int64_t columns = std::min(s_.units, block1 * V) - block0 * V;
    for (int v = 0; v < order.count; ++v) {
      AddColumns(w.At(0, order.source[v] * s_.units + block0 * V).data, w.k_stride, columns, row,
                 depth, gates + (block0 * s_.gates.buffer + at + v) * V, s_.gates.buffer * V);
    }
  }

  void ProjectionDots(int64_t n, int64_t panel0, int64_t panel1) {
    constexpr int V = kLanes<T>;
    const int64_t end = std::min(s_.proj, panel1 * 4 * V);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = panel0 * 4 * V; c < end; c += V) {
        StoreFirst(p_.h[i] + c,
                   DotRows(dir_.source.projection.At(0, c).data, dir_.source.projection.n_stride,
                           s_.proj - c, p_.h_prev[i], s_.units),
                   s_.proj - c);
      }
    }
  }

  // skip_input: every gate gets x itself.
  void AddInputToGates(int64_t block0, int64_t block1) {
    constexpr int V = kLanes<T>;
    for (int64_t i = 0; i < chunk_rows_; ++i) {
      for (int64_t u = block0; u < block1; ++u) {
        const Packet<T> x = LoadFirst(p_.x[i] + u * V, s_.units - u * V);
        T* g = p_.gates[i] + (u * s_.gates.buffer + s_.gates.input_at) * V;
        const T* bias = dir_.weights.bias + u * s_.gates.input.count * V;
        for (int v = 0; v < s_.gates.input.count; ++v) {
          Store(g + v * V, padd(Load(bias + v * V), x));
        }
      }
    }
  }

  // The recurrent product and the cell on weights that are not packed; panels are unit blocks.
  template <typename Cell>
  void RunDirect(const Cell& cell, int64_t n, int64_t block0, int64_t block1) {
    const MatrixView<const T>& w = dir_.source.recurrent;
    if (w.n_stride == 1) {
      RunDirectColumns(cell, n, block0, block1);
      return;
    }
    RunCellOn<T>(cell, n, block0, block1, [&](int64_t i, int64_t u, int v) {
      const int64_t column = s_.gates.recurrent.source[v] * s_.units + u * kLanes<T>;
      return DotRows(w.At(0, column).data, w.n_stride, s_.units - u * kLanes<T>,
                     cell.rows.h_prev[i], s_.hidden);
    });
  }

  // The sums go to the gate buffer, where the cell finds all but GRU's q.
  template <typename Cell>
  void RunDirectColumns(const Cell& cell, int64_t n, int64_t block0, int64_t block1) {
    constexpr int V = kLanes<T>;
    const bool gru = s_.mode == kModeGru;
    for (int64_t i = 0; i < n; ++i) {
      T* gates = cell.rows.gates[i];
      for (int64_t u = block0; gru && u < block1; ++u) {
        Store(gates + (u * s_.gates.buffer + 3) * V, Set<T>(T(0)));
      }
      AddGateColumns(dir_.source.recurrent, s_.gates.recurrent, s_.gates.recurrent_at,
                     cell.rows.h_prev[i], s_.hidden, block0, block1, gates);
    }
    RunCellOn<T>(cell, n, block0, block1, [&](int64_t i, int64_t u, int v) {
      return gru && v == 2 ? Load(cell.rows.gates[i] + (u * s_.gates.buffer + 3) * V)
                           : Set<T>(T(0));
    });
  }

  void RunDirectCells(const StepRows<T>& rows, int64_t n, int64_t block0, int64_t block1) {
    switch (s_.mode) {
      case kModeLstm:
        RunDirect(LstmCell<T>{rows, s_.units}, n, block0, block1);
        break;
      case kModeGru:
        RunDirect(GruCell<T>{rows, s_.units, dir_.weights.recurrent_bias}, n, block0, block1);
        break;
      case kModeTanh:
        RunDirect(VanillaCell<T, T, TanhActivation, 1>{rows, s_.units, 0}, n, block0, block1);
        break;
      default:
        RunDirect(VanillaCell<T, T, ReluActivation, 1>{rows, s_.units, 0}, n, block0, block1);
        break;
    }
  }

  template <typename O>
  void RunCells(const StepRows<T, O>& rows, int64_t n, const PanelOrder& order) {
    const int64_t panel0 = order.begin;
    const int64_t panel1 = order.end;
    if constexpr (std::is_same_v<T, E>) {
      if (layer_.direct) {
        RunDirectCells(rows, n, panel0 * BlocksInPanel(),
                       std::min(s_.blocks, panel1 * BlocksInPanel()));
        return;
      }
    }
    const PackedWeights<T, E>& w = dir_.weights;
    StepProduct<T, E> product = {
        n, p_.a, OperandsOf<E>(s_.hidden), w.recurrent, FewRows(seq_.batch), order.reversed};
    if constexpr (std::is_same_v<T, E>) {
      if (!copies_h()) product.a = rows.h_prev;
    }
    switch (s_.mode) {
      case kModeLstm:
        RunGates(LstmCell<T, O>{rows, s_.units}, product, panel0, panel1);
        break;
      case kModeGru:
        RunGates(GruCell<T, O>{rows, s_.units, w.recurrent_bias}, product, panel0, panel1);
        break;
      case kModeTanh:
        RunVanilla<TanhActivation>(rows, product, panel0, panel1);
        break;
      default:
        RunVanilla<ReluActivation>(rows, product, panel0, panel1);
        break;
    }
  }

  template <typename Cell>
  void RunGates(const Cell& cell, const StepProduct<T, E>& product, int64_t panel0,
                int64_t panel1) {
    if constexpr (std::is_same_v<T, E>) {
      if (layer_.recurrent_masks) return RunCell<T, true>(cell, product, panel0, panel1);
    }
    RunCell<T, false>(cell, product, panel0, panel1);
  }

  // Dense panels: four unit blocks each, the last one narrower.
  template <typename Activation, typename O>
  void RunVanilla(const StepRows<T, O>& rows, const StepProduct<T, E>& product, int64_t panel0,
                  int64_t panel1) {
    const int64_t full = s_.blocks / 4;
    RunCell<T, false>(VanillaCell<T, O, Activation, 4>{rows, s_.units, 0}, product, panel0,
                      std::min(panel1, full));
    if (panel1 <= full) return;
    StepProduct<T, E> last = product;
    last.panels += DensePanelOffset<T>(product.depth, full);
    const int64_t at = 4 * full;
    switch (s_.blocks % 4) {
      case 1:
        RunCell<T, false>(VanillaCell<T, O, Activation, 1>{rows, s_.units, at}, last, 0, 1);
        break;
      case 2:
        RunCell<T, false>(VanillaCell<T, O, Activation, 2>{rows, s_.units, at}, last, 0, 1);
        break;
      case 3:
        RunCell<T, false>(VanillaCell<T, O, Activation, 3>{rows, s_.units, at}, last, 0, 1);
        break;
      default:
        break;
    }
  }

  const ForwardLayer<T, E>& layer_;
  const Sequence& seq_;
  const Sizes<T>& s_;
  const ForwardDirection<T, E>& dir_;
  const int d_;
  const int64_t pseudo_layer_;
  const int64_t y_at_;
  const int64_t j0_, j1_;
  const SlicePointers<T, E> p_;
  T* const ring_;
  const int64_t steps_;
  const int64_t chunk_;  // steps
  int64_t prepared_chunk_ = -1;
  int64_t chunk_rows_ = 0;
  int64_t gate_step_ = -1;
  int64_t gate_row_ = 0;
};

// A whole slice by one thread.
template <typename T, typename E>
void RunForwardSlice(ForwardSlice<T, E> slice, const Sizes<T>& s) {
  slice.LoadStates(0, s.panels());
  if (slice.copies_h()) slice.CopyInitialStates();
  for (int64_t step = 0; step < slice.steps(); ++step) {
    slice.Step(step, 0, s.panels());
    if (s.proj > 0) slice.Project(step, 0, DensePanels<T>(s.proj));
  }
  slice.Finish();
}

// All rows of a direction, in shares of the units.
template <typename T, typename E>
void RunForwardShares(ForwardSlice<T, E> slice, const Sizes<T>& s, int64_t worker, int64_t shares,
                      Stages* stages) {
  const int64_t panels = s.panels();
  const int64_t proj_panels = DensePanels<T>(s.proj);
  const int64_t per_step = s.proj > 0 ? 2 : 1;
  stages->Run(worker, slice.steps() * per_step, [&](int64_t stage, int64_t share) {
    const int64_t step = stage / per_step;
    if (stage % per_step == 1) {
      slice.Project(step, proj_panels * share / shares, proj_panels * (share + 1) / shares);
      return;
    }
    const int64_t panel0 = panels * share / shares;
    const int64_t panel1 = panels * (share + 1) / shares;
    if (step == 0) slice.LoadStates(panel0, panel1);
    slice.Step(step, panel0, panel1);
  });
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PASS_FORWARD_SLICE_H_
