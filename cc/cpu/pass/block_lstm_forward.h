// BlockLSTMV2: one LSTM layer with peepholes and clipping whose gates are all outputs.
#ifndef TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_FORWARD_H_
#define TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_FORWARD_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/forward_slice.h"
#include "cc/cpu/pass/model.h"
#include "cc/cpu/pass/slice_pointers.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/activations.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

// i, f = s(. + c_prev * w_ci, w_cf); g = tanh(.); c = clip(f * c_prev + i * g);
// o = s(. + c * w_co); h = o * tanh(c). Gate buffer as LstmCell's; outputs are [T, B, H].
template <typename T, bool Peephole>
struct BlockLstmCell {
  static constexpr int kVectors = 4;
  StepRows<T> rows;  // h_prev, gates, c_prev
  int64_t units;
  T clip;                           // 0: off
  const T *wci, *wcf, *wco;         // [padded]
  T *i, *cs, *f, *o, *ci, *co, *h;  // row 0 of the step

  EIGEN_ALWAYS_INLINE void Init(int64_t row, int64_t u, Packet<T>* acc) const {
    const T* g = rows.gates[row] + u * 4 * kLanes<T>;
    for (int v = 0; v < 4; ++v) acc[v] = Load(g + v * kLanes<T>);
  }

  EIGEN_ALWAYS_INLINE T* Sums(int64_t row, int64_t u) const {
    return rows.gates[row] + u * 4 * kLanes<T>;
  }

  EIGEN_ALWAYS_INLINE void Finish(int64_t row, int64_t u, const Packet<T>* acc) const {
    using Eigen::PropagateNaN;
    const int64_t unit = u * kLanes<T>;
    const int64_t n = units - unit;
    const int64_t at = row * units + unit;
    const Packet<T> c_prev = LoadFirst(rows.c_prev[row] + unit, n);
    Packet<T> in = acc[0], forget = acc[1], out = acc[3];
    if (Peephole) {
      in = pmadd(c_prev, Load(wci + unit), in);
      forget = pmadd(c_prev, Load(wcf + unit), forget);
    }
    in = Sigmoid<T>(in);
    forget = Sigmoid<T>(forget);
    const Packet<T> candidate = Tanh<T>(acc[2]);
    Packet<T> c = pmadd(forget, c_prev, pmul(in, candidate));
    if (clip > T(0)) {
      c = Eigen::internal::pmin<PropagateNaN>(c, Set<T>(clip));
      c = Eigen::internal::pmax<PropagateNaN>(c, Set<T>(-clip));
    }
    if (Peephole) out = pmadd(c, Load(wco + unit), out);
    out = Sigmoid<T>(out);
    const Packet<T> tanh_c = Tanh<T>(c);
    StoreFirst(i + at, in, n);
    StoreFirst(cs + at, c, n);
    StoreFirst(f + at, forget, n);
    StoreFirst(o + at, out, n);
    StoreFirst(ci + at, candidate, n);
    StoreFirst(co + at, tanh_c, n);
    StoreFirst(h + at, pmul(out, tanh_c), n);
  }
};

// Elements of the tensors of a problem.
struct BlockLstmCounts {
  int64_t x, state, w, units, b, steps;
};

inline BlockLstmCounts CountsOf(const BlockLstmProblem& p) {
  const int64_t rows = Area(p.max_time, p.batch);
  return {Area(rows, p.input_size),
          Area(p.batch, p.num_units),
          Area(p.input_size + p.num_units, 4 * p.num_units),
          p.num_units,
          4 * p.num_units,
          Area(rows, p.num_units)};
}

// w [I + H, 4*H], columns i, f, ci, o.
template <typename T>
WeightSource<T> BlockLstmSource(const BlockLstmProblem& p, const T* w, const T* b) {
  const int64_t columns = 4 * p.num_units;
  WeightSource<T> src;
  src.input = {w, columns, 1};
  src.recurrent = {w + p.input_size * columns, columns, 1};
  src.projection = {nullptr, 0, 0};
  src.input_bias = b;
  src.recurrent_bias = nullptr;
  return src;
}

// The peephole weights padded to whole vectors: [3, padded].
template <typename T>
void PadPeepholes(const void* wci, const void* wcf, const void* wco, const Sizes<T>& s, T* padded) {
  for (const void* from : {wci, wcf, wco}) {
    const T* w = static_cast<const T*>(from);
    std::copy(w, w + s.units, padded);
    std::fill(padded + s.units, padded + s.padded, T(0));
    padded += s.padded;
  }
}

template <typename T>
struct BlockLstmForwardPlan {
  Sizes<T> sizes;
  Split split;
  PackedWeights<T> weights;
  T* peephole;  // [3, padded]
  T* ring;      // [slices * kChunkRows + B, gate_row]
  SlicePointers<T> pointers;
};

template <typename T>
BlockLstmForwardPlan<T> MakeBlockLstmForwardPlan(const BlockLstmProblem& p,
                                                 const ThreadBudget& threads, Arena& arena) {
  BlockLstmForwardPlan<T> plan;
  const Sizes<T> s = plan.sizes = MakeSizes<T>(kModeLstm, p.num_units, 0, 1);
  plan.split = SplitOf(s, p.seq_len, Area(p.seq_len, p.batch), p.input_size, p.batch, threads,
                       s.panels(), kForwardStreamBytes);
  plan.weights = TakePackedWeights(arena, s, p.input_size);
  plan.peephole = arena.Take<T>(3 * s.padded);
  const int64_t rows = plan.split.slices * kChunkRows + p.batch;
  plan.ring = arena.Take<T>(Area(rows, s.gate_row));
  plan.pointers = TakeSlicePointers<T>(arena, Area(plan.split.shares, rows));
  return plan;
}

template <typename T>
int64_t BlockLstmForwardBytes(const BlockLstmProblem& p, const ThreadBudget& threads) {
  Arena arena;
  MakeBlockLstmForwardPlan<T>(p, threads, arena);
  return arena.bytes();
}

// Rows [b0, b1) of the batch, a step and a range of panels at a time; workers as in ForwardSlice.
template <typename T>
class BlockLstmForwardSlice {
 public:
  BlockLstmForwardSlice(const BlockLstmForwardArgs& args, const BlockLstmForwardPlan<T>& plan,
                        int64_t b0, int64_t b1, const SlicePointers<T>& pointers, T* ring)
      : args_(args),
        problem_(args.problem),
        plan_(plan),
        s_(plan.sizes),
        b0_(b0),
        n_(b1 - b0),
        p_(pointers),
        ring_(ring),
        chunk_(std::max<int64_t>(1, kChunkRows / std::max<int64_t>(1, b1 - b0))) {}

  int64_t steps() const { return n_ > 0 ? problem_.seq_len : 0; }

  void Step(int64_t t, int64_t panel0, int64_t panel1) {
    if (t / chunk_ != prepared_chunk_) PrepareChunk(t / chunk_);
    if (t % chunk_ == 0) InputProduct(panel0, panel1);
    const int64_t before = (t - 1) * problem_.batch + b0_;
    for (int64_t i = 0; i < n_; ++i) {
      p_.h_prev[i] = t == 0 ? Row(args_.h_prev, b0_ + i) : Row(args_.h, before + i);
      p_.c_prev[i] = t == 0 ? Row(args_.cs_prev, b0_ + i) : Row(args_.cs, before + i);
    }
    if (problem_.use_peephole) {
      RunCells<true>(t, panel0, panel1);
    } else {
      RunCells<false>(t, panel0, panel1);
    }
  }

 private:
  const T* Row(const void* tensor, int64_t row) const {
    return static_cast<const T*>(tensor) + row * s_.units;
  }

  void PrepareChunk(int64_t chunk) {
    prepared_chunk_ = chunk;
    const int64_t t0 = chunk * chunk_;
    chunk_rows_ = (std::min(problem_.seq_len, t0 + chunk_) - t0) * n_;
    const T* x = static_cast<const T*>(args_.x);
    for (int64_t row = 0; row < chunk_rows_; ++row) {
      p_.x[row] = x + ((t0 + row / n_) * problem_.batch + b0_ + row % n_) * problem_.input_size;
      p_.gates[row] = ring_ + row * s_.gate_row;
    }
  }

  void InputProduct(int64_t panel0, int64_t panel1) {
    RowGemm<T> g;
    g.a = p_.x;
    g.c = p_.gates;
    g.rows = chunk_rows_;
    g.run = problem_.input_size;
    g.b = plan_.weights.input;
    g.bias = plan_.weights.bias;
    g.columns = s_.gate_row;
    g.panel_stride = 4 * kLanes<T>;
    g.start = Start::kBias;
    GemmPanels<T, 4>(g, panel0, panel1);
  }

  template <bool Peephole>
  void RunCells(int64_t t, int64_t panel0, int64_t panel1) {
    const int64_t first = (t * problem_.batch + b0_) * s_.units;
    auto out = [first](void* tensor) { return static_cast<T*>(tensor) + first; };
    BlockLstmCell<T, Peephole> cell;
    cell.rows = {p_.h_prev, p_.gates + (t % chunk_) * n_, p_.c_prev, nullptr, nullptr};
    cell.units = s_.units;
    cell.clip = problem_.cell_clip > 0 ? static_cast<T>(problem_.cell_clip) : T(0);
    cell.wci = plan_.peephole;
    cell.wcf = plan_.peephole + s_.padded;
    cell.wco = plan_.peephole + 2 * s_.padded;
    cell.i = out(args_.i), cell.cs = out(args_.cs), cell.f = out(args_.f);
    cell.o = out(args_.o), cell.ci = out(args_.ci), cell.co = out(args_.co);
    cell.h = out(args_.h);
    const StepProduct<T> product = {
        n_,        cell.rows.h_prev, s_.units, plan_.weights.recurrent, FewRows(problem_.batch),
        t % 2 != 0};
    RunCell<T, false>(cell, product, panel0, panel1);
  }

  const BlockLstmForwardArgs& args_;
  const BlockLstmProblem& problem_;
  const BlockLstmForwardPlan<T>& plan_;
  const Sizes<T>& s_;
  const int64_t b0_;
  const int64_t n_;
  const SlicePointers<T> p_;
  T* const ring_;
  const int64_t chunk_;  // steps
  int64_t prepared_chunk_ = -1;
  int64_t chunk_rows_ = 0;
};

template <typename T>
void RunBlockLstmRecurrence(const BlockLstmForwardArgs& args, const BlockLstmForwardPlan<T>& plan) {
  const BlockLstmProblem& p = args.problem;
  const Sizes<T>& s = plan.sizes;
  const int64_t slices = plan.split.slices;
  const int64_t shares = plan.split.shares;
  if (shares == 1) {
    Parallel(args.parallel, slices, plan.split.ns, [&](int64_t i) {
      const int64_t b0 = p.batch * i / slices;
      const int64_t at = i * kChunkRows + b0;
      BlockLstmForwardSlice<T> slice(args, plan, b0, p.batch * (i + 1) / slices,
                                     Shift(plan.pointers, at), plan.ring + at * s.gate_row);
      for (int64_t t = 0; t < slice.steps(); ++t) slice.Step(t, 0, s.panels());
    });
    return;
  }
  Stages stages(shares);
  Parallel(args.parallel, shares, plan.split.ns, [&](int64_t worker) {
    BlockLstmForwardSlice<T> slice(
        args, plan, 0, p.batch, Shift(plan.pointers, worker * (kChunkRows + p.batch)), plan.ring);
    stages.Run(worker, slice.steps(), [&](int64_t t, int64_t share) {
      slice.Step(t, s.panels() * share / shares, s.panels() * (share + 1) / shares);
    });
  });
}

template <typename T>
int32_t RunBlockLstmForward(const BlockLstmForwardArgs& args) {
  const BlockLstmProblem& p = args.problem;
  Arena arena(args.scratch);
  const BlockLstmForwardPlan<T> plan = MakeBlockLstmForwardPlan<T>(p, args.parallel.threads, arena);
  const Sizes<T>& s = plan.sizes;
  const WeightSource<T> src =
      BlockLstmSource(p, static_cast<const T*>(args.w), static_cast<const T*>(args.b));
  Parallel(args.parallel, PackItems(s), NsToMove(PanelBytes<T, T>(s, p.input_size)) + plan.split.ns,
           [&](int64_t i) { PackItem(s, src, p.input_size, i, plan.weights); });
  if (p.use_peephole) PadPeepholes<T>(args.wci, args.wcf, args.wco, s, plan.peephole);
  RunBlockLstmRecurrence(args, plan);
  const int64_t done = p.seq_len * p.batch * p.num_units;
  const int64_t rest = (p.max_time - p.seq_len) * p.batch * p.num_units;
  for (void* out : {args.i, args.cs, args.f, args.o, args.ci, args.co, args.h}) {
    if (rest > 0) std::memset(static_cast<T*>(out) + done, 0, sizeof(T) * rest);
  }
  return 0;
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_FORWARD_H_
