// The gradient of BlockLSTMV2, on the same parts as the backward pass of the stack.
#ifndef TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_BACKWARD_H_
#define TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_BACKWARD_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cc/cpu/cell/cells_backward.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/block_lstm_forward.h"
#include "cc/cpu/pass/model.h"
#include "cc/cpu/pass/rnn_backward.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/sequence.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

// One row of one step. Pointers start at the row's unit 0.
template <typename T>
struct BlockLstmRow {
  const T *i, *cs, *f, *o, *ci, *co, *cs_prev;  // [H]
  const T *cs_grad, *h_grad;                    // [H]
  const T *wci, *wcf, *wco;                     // [padded]
  const T* dh;                                  // [padded] from the step after
  T* dc;                                        // [padded] likewise, updated
  T* dgates;                                    // [u][i, f, ci, o][V]
};

// do = dh * co * s'(o); dc += dh * o * tanh'(c) + do * w_co; di, df, dci as in LstmRowBackward;
// dc_prev = dc * f + di * w_ci + df * w_cf. The clip is not differentiated, as in TensorFlow. Lanes
// beyond H as in LstmRowBackward.
template <typename T, bool Peephole>
void BlockLstmRowBackward(const UnitRange& range, const BlockLstmRow<T>& r) {
  constexpr int V = kLanes<T>;
  const int64_t units = range.size;
  for (int64_t unit = range.begin; unit < range.end; unit += V) {
    const int64_t n = units - unit;
    const Packet<T> in = LoadFirst(r.i + unit, n), forget = LoadFirst(r.f + unit, n),
                    out = LoadFirst(r.o + unit, n), candidate = LoadFirst(r.ci + unit, n),
                    tanh_c = LoadFirst(r.co + unit, n);
    const Packet<T> dh = LoadGradient(r.dh, r.h_grad, unit, units);
    const Packet<T> d_out = pmul(pmul(dh, tanh_c), SigmoidSlope<T>(out));
    Packet<T> dc = LoadGradient<T>(r.dc, r.cs_grad, unit, units);
    dc = pmadd(pmul(dh, out), TanhSlope<T>(tanh_c), dc);
    if (Peephole) dc = pmadd(d_out, Load(r.wco + unit), dc);
    const Packet<T> d_in = pmul(pmul(dc, candidate), SigmoidSlope<T>(in));
    const Packet<T> d_forget =
        pmul(pmul(dc, LoadFirst(r.cs_prev + unit, n)), SigmoidSlope<T>(forget));
    Packet<T> dc_prev = pmul(dc, forget);
    if (Peephole) {
      dc_prev = pmadd(d_in, Load(r.wci + unit), dc_prev);
      dc_prev = pmadd(d_forget, Load(r.wcf + unit), dc_prev);
    }
    T* dg = r.dgates + 4 * unit;
    Store(dg, KeepFirst<T>(d_in, n));
    Store(dg + V, KeepFirst<T>(d_forget, n));
    Store(dg + 2 * V, KeepFirst<T>(pmul(pmul(dc, in), TanhSlope<T>(candidate)), n));
    Store(dg + 3 * V, KeepFirst<T>(d_out, n));
    Store(r.dc + unit, dc_prev);
  }
}

template <typename T>
struct BlockLstmBackwardPlan {
  Sizes<T> sizes;
  Sequence seq;
  Split split;
  BackwardLayer<T> layer;
  T* peephole;  // [3, padded]
};

template <typename T>
BlockLstmBackwardPlan<T> MakeBlockLstmBackwardPlan(const BlockLstmProblem& p,
                                                   const ThreadBudget& threads, Arena& arena) {
  BlockLstmBackwardPlan<T> plan;
  const Sizes<T> s = plan.sizes = MakeSizes<T>(kModeLstm, p.num_units, 0, 1);
  plan.seq = MakeSequence(arena, p.seq_len, p.batch, /*time_major=*/true, /*lengths=*/nullptr);
  plan.split = BackwardSplit(s, p.seq_len, plan.seq.rows, p.input_size, p.batch, threads);
  plan.layer.dirs[0] = TakeBackwardDirection<T, T>(arena, s, p.input_size, plan.seq.rows, p.batch);
  plan.layer.pointers[0] = TakeSlicePointers<T>(arena, Area(plan.split.shares, p.batch));
  plan.peephole = arena.Take<T>(3 * s.padded);
  return plan;
}

template <typename T>
int64_t BlockLstmBackwardBytes(const BlockLstmProblem& p, const ThreadBudget& threads) {
  Arena arena;
  MakeBlockLstmBackwardPlan<T>(p, threads, arena);
  return arena.bytes();
}

// Rows [b0, b1) of the batch, backwards through time; the interface of BackwardSlice.
template <typename T>
class BlockLstmBackwardSlice {
 public:
  BlockLstmBackwardSlice(const BlockLstmBackwardArgs& args, const BlockLstmBackwardPlan<T>& plan,
                         int64_t b0, int64_t b1, const SlicePointers<T>& pointers)
      : args_(args),
        problem_(args.problem),
        plan_(plan),
        s_(plan.sizes),
        dir_(plan.layer.dirs[0]),
        b0_(b0),
        b1_(b1),
        p_(pointers) {}

  int64_t stages() const { return problem_.seq_len + 1; }

  void Run(int64_t stage, int64_t panel0, int64_t panel1) {
    constexpr int64_t kPanelUnits = 4 * kLanes<T>;
    const UnitRange range = {panel0 * kPanelUnits, std::min(s_.units, panel1 * kPanelUnits),
                             s_.units};
    // Nothing flows back from behind the last step.
    if (stage == 0) {
      const int64_t end = std::min(s_.padded, panel1 * kPanelUnits);
      for (int64_t b = b0_; b < b1_; ++b) {
        std::fill(dir_.dh + b * s_.padded + range.begin, dir_.dh + b * s_.padded + end, T(0));
        std::fill(dir_.dc + b * s_.padded + range.begin, dir_.dc + b * s_.padded + end, T(0));
      }
    }
    const int64_t t = problem_.seq_len - 1 - stage;
    if (stage > 0) HiddenGradient(t + 1, panel0, panel1);
    if (t < 0) return;
    for (int64_t b = b0_; b < b1_; ++b) {
      if (problem_.use_peephole) {
        BlockLstmRowBackward<T, true>(range, RowOf(t, b));
      } else {
        BlockLstmRowBackward<T, false>(range, RowOf(t, b));
      }
    }
  }

  void Finish() {
    for (int64_t b = b0_; b < b1_; ++b) {
      std::memcpy(static_cast<T*>(args_.h_prev_grad) + b * s_.units, dir_.dh + b * s_.padded,
                  sizeof(T) * s_.units);
      std::memcpy(static_cast<T*>(args_.cs_prev_grad) + b * s_.units, dir_.dc + b * s_.padded,
                  sizeof(T) * s_.units);
    }
  }

 private:
  // dh = dgates * R^T
  void HiddenGradient(int64_t t, int64_t panel0, int64_t panel1) {
    for (int64_t i = 0; i < b1_ - b0_; ++i) {
      p_.x[i] = dir_.dgates + (t * problem_.batch + b0_ + i) * s_.gate_row;
      p_.h[i] = dir_.dh + (b0_ + i) * s_.padded;
    }
    RowGemm<T> g;
    g.a = p_.x;
    g.c = p_.h;
    g.rows = b1_ - b0_;
    g.run = s_.gate_row;
    g.b = dir_.recurrent;
    g.columns = s_.padded;
    g.panel_stride = 4 * kLanes<T>;
    g.start = Start::kZero;
    g.few_rows = FewRows(problem_.batch);
    g.reversed = t % 2 != 0;
    GemmDense(g, panel0, panel1);
  }

  BlockLstmRow<T> RowOf(int64_t t, int64_t b) const {
    const int64_t row = t * problem_.batch + b;
    auto in = [&](const void* tensor) { return static_cast<const T*>(tensor) + row * s_.units; };
    BlockLstmRow<T> r;
    r.i = in(args_.i), r.cs = in(args_.cs), r.f = in(args_.f), r.o = in(args_.o);
    r.ci = in(args_.ci), r.co = in(args_.co);
    r.cs_prev = t == 0 ? static_cast<const T*>(args_.cs_prev) + b * s_.units
                       : r.cs - problem_.batch * s_.units;
    r.cs_grad = in(args_.cs_grad), r.h_grad = in(args_.h_grad);
    r.wci = plan_.peephole;
    r.wcf = plan_.peephole + s_.padded;
    r.wco = plan_.peephole + 2 * s_.padded;
    r.dh = dir_.dh + b * s_.padded;
    r.dc = dir_.dc + b * s_.padded;
    r.dgates = dir_.dgates + row * s_.gate_row;
    return r;
  }

  const BlockLstmBackwardArgs& args_;
  const BlockLstmProblem& problem_;
  const BlockLstmBackwardPlan<T>& plan_;
  const Sizes<T>& s_;
  const BackwardDirection<T>& dir_;
  const int64_t b0_, b1_;
  const SlicePointers<T> p_;
};

// dw_ci = sum of di * c_prev, dw_cf = sum of df * c_prev, dw_co = sum of do * c, for unit block u.
// See Note [Deterministic reductions].
template <typename T>
void PeepholeGradient(const BlockLstmBackwardArgs& args, const BlockLstmBackwardPlan<T>& plan,
                      int64_t u) {
  constexpr int V = kLanes<T>;
  const Sizes<T>& s = plan.sizes;
  const int64_t n = s.units - u * V;
  const T* cs = static_cast<const T*>(args.cs) + u * V;
  const T* cs_prev = static_cast<const T*>(args.cs_prev) + u * V;
  Packet<T> total[3] = {Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0))};
  for (int64_t row0 = 0; row0 < plan.seq.rows; row0 += kReductionRows) {
    Packet<T> sum[3] = {Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0))};
    for (int64_t row = row0; row < std::min(plan.seq.rows, row0 + kReductionRows); ++row) {
      const T* dg = plan.layer.dirs[0].dgates + row * s.gate_row + u * 4 * V;
      const int64_t before = row - args.problem.batch;
      const Packet<T> c_prev =
          LoadFirst(before < 0 ? cs_prev + row * s.units : cs + before * s.units, n);
      sum[0] = pmadd(Load(dg), c_prev, sum[0]);
      sum[1] = pmadd(Load(dg + V), c_prev, sum[1]);
      sum[2] = pmadd(Load(dg + 3 * V), LoadFirst(cs + row * s.units, n), sum[2]);
    }
    for (int k = 0; k < 3; ++k) total[k] = padd(total[k], sum[k]);
  }
  StoreFirst(static_cast<T*>(args.wci_grad) + u * V, total[0], n);
  StoreFirst(static_cast<T*>(args.wcf_grad) + u * V, total[1], n);
  StoreFirst(static_cast<T*>(args.wco_grad) + u * V, total[2], n);
}

template <typename T>
int32_t RunBlockLstmBackward(const BlockLstmBackwardArgs& args) {
  const BlockLstmProblem& p = args.problem;
  Arena arena(args.scratch);
  BlockLstmBackwardPlan<T> plan = MakeBlockLstmBackwardPlan<T>(p, args.parallel.threads, arena);
  const Sizes<T>& s = plan.sizes;
  if (p.use_peephole) {
    PadPeepholes<T>(args.wci, args.wcf, args.wco, s, plan.peephole);
  } else {
    for (void* out : {args.wci_grad, args.wcf_grad, args.wco_grad}) {
      std::memset(out, 0, sizeof(T) * s.units);
    }
  }
  const int64_t rest = (p.max_time - p.seq_len) * p.batch * p.input_size;
  T* x_grad = static_cast<T*>(args.x_grad);
  if (rest > 0) std::memset(x_grad + plan.seq.rows * p.input_size, 0, sizeof(T) * rest);

  BackwardLayer<T>& layer = plan.layer;
  layer.seq = &plan.seq;
  layer.sizes = s;
  layer.in = p.input_size;
  layer.skip_input = false;
  layer.x = UserRows(plan.seq, static_cast<const T*>(args.x), p.input_size);
  layer.y = UserRows(plan.seq, static_cast<const T*>(args.h), p.num_units);
  layer.dx = UserRows(plan.seq, x_grad, p.input_size);
  layer.h0 = {static_cast<const T*>(args.h_prev), p.num_units, 0, 1};
  layer.first_pseudo_layer = 0;

  const WeightSource<T> src =
      BlockLstmSource(p, static_cast<const T*>(args.w), static_cast<const T*>(args.b));
  const int64_t columns = 4 * p.num_units;
  T* w_grad = static_cast<T*>(args.w_grad);
  WeightTarget<T> to;
  to.input = {w_grad, columns, 1};
  to.recurrent = {w_grad + p.input_size * columns, columns, 1};
  to.projection = {nullptr, 0, 0};
  to.input_bias = static_cast<T*>(args.b_grad);
  to.recurrent_bias = nullptr;

  PackBackwardWeights(layer, &src, plan.split, args.parallel);
  RunBackwardRecurrence(layer, plan.split, args.parallel,
                        [&](int, int64_t b0, int64_t b1, const SlicePointers<T>& pointers) {
                          return BlockLstmBackwardSlice<T>(args, plan, b0, b1, pointers);
                        });
  RunBackwardProducts(layer, &to, args.parallel);
  if (p.use_peephole) {
    const int64_t ns = NsToMove(Area(plan.seq.rows, s.gate_row) * int64_t{sizeof(T)});
    Parallel(args.parallel, s.blocks, ns, [&](int64_t u) { PeepholeGradient(args, plan, u); });
  }
  return 0;
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_BACKWARD_H_
