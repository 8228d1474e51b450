// The entries of the kernel table: each picks the type of the arithmetic, and widens the tensors of
// 16-bit types.
#ifndef TF_RNN_OPS_CC_CPU_PASS_ENTRY_H_
#define TF_RNN_OPS_CC_CPU_PASS_ENTRY_H_

#include <cstdint>
#include <type_traits>

#include "Eigen/Core"
#include "cc/cpu/pass/block_lstm.h"
#include "cc/cpu/pass/rnn_backward.h"
#include "cc/cpu/pass/rnn_forward.h"
#include "cc/cpu/pass/rnn_pack.h"
#include "cc/cpu/rows/narrow.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

// Elements of the tensors of a problem.
struct RnnCounts {
  int64_t x, y, h, c, params;
  int64_t kernel, recurrent_kernel, bias, input_mask, recurrent_mask;  // 0 with opaque weights
};

inline RnnCounts CountsOf(const RnnProblem& p) {
  const Sizes<float> s = MakeSizes<float>(p);
  const int64_t rows = Area(p.max_time, p.batch);
  const int64_t states = Area(p.num_layers * p.num_dirs, p.batch);
  RnnCounts n = {};
  n.x = Area(rows, p.input_size);
  n.y = Area(rows, s.output);
  n.h = Area(states, s.hidden);
  n.c = s.cell.has_c ? Area(states, s.units) : 0;
  if (p.weight_layout != kKerasWeights) {
    n.params = OffsetsOf(p, s).size();
    return n;
  }
  const int64_t columns = s.gate_units();
  n.kernel = Area(p.input_size, columns);
  n.recurrent_kernel = Area(s.units, columns);
  n.bias = p.bias_rows * columns;
  const int64_t mask_rows = Area(s.cell.gates, p.batch);
  n.input_mask = p.input_masked ? Area(mask_rows, p.input_size) : 0;
  n.recurrent_mask = p.recurrent_masked ? Area(mask_rows, s.units) : 0;
  return n;
}

template <typename Narrow>
LayerWeights WidenLayer(const LayerWeights& layer, const RnnCounts& n, Widened<Narrow>& w) {
  LayerWeights wide;
  wide.kernel = w.In(layer.kernel, n.kernel);
  wide.recurrent_kernel = w.In(layer.recurrent_kernel, n.recurrent_kernel);
  wide.bias = w.In(layer.bias, n.bias);
  wide.input_mask = w.In(layer.input_mask, n.input_mask);
  wide.recurrent_mask = w.In(layer.recurrent_mask, n.recurrent_mask);
  return wide;
}

// Whether the products of a problem run on pairs of bfloat16 (Note [Pairs]). What is rare computes
// in float32: projection, skip_input, masks.
inline bool UsesPairs(const RnnProblem& p) {
  return kHasPairs && p.bf16_products && p.dtype == kBFloat16 && p.num_proj == 0 && !p.skip_input &&
         !p.input_masked && !p.recurrent_masked && CpuHasPairs();
}

template <typename Narrow>
RnnForwardArgs Widen(const RnnForwardArgs& args, Widened<Narrow>& w) {
  RnnCounts n = CountsOf(args.problem);
  const bool pairs = UsesPairs(args.problem);
  // What is read and written as it is.
  if (pairs && RowsArePairs(args.problem.input_size)) n.x = 0;
  if (pairs && RowsArePairs(args.problem.num_units)) n.y = 0;
  RnnForwardArgs wide = args;
  wide.x = w.In(args.x, n.x);
  wide.h0 = w.In(args.h0, n.h);
  wide.c0 = w.In(args.c0, n.c);
  if (!pairs && !args.problem.weights_packed) {  // pairs are packed from bfloat16
    wide.params = w.In(args.params, n.params);
    wide.layer = WidenLayer(args.layer, n, w);
  }
  wide.y = w.Out(args.y, n.y);
  wide.h_n = w.Out(args.h_n, n.h);
  wide.c_n = w.Out(args.c_n, n.c);
  return wide;
}

template <typename Narrow>
RnnBackwardArgs Widen(const RnnBackwardArgs& args, Widened<Narrow>& w) {
  const RnnCounts n = CountsOf(args.problem);
  const bool pairs = UsesPairs(args.problem);
  RnnBackwardArgs wide = args;
  wide.x = w.In(args.x, n.x);
  wide.h0 = w.In(args.h0, n.h);
  wide.c0 = w.In(args.c0, n.c);
  if (!pairs) {  // which are packed from bfloat16
    wide.params = w.In(args.params, n.params);
    wide.layer = WidenLayer(args.layer, n, w);
  }
  wide.y = w.In(args.y, n.y);
  wide.dy = w.In(args.dy, n.y);
  wide.dh_n = w.In(args.dh_n, n.h);
  wide.dc_n = w.In(args.dc_n, n.c);
  wide.dx = w.Out(args.dx, n.x);
  wide.dh0 = w.Out(args.dh0, n.h);
  wide.dc0 = w.Out(args.dc0, n.c);
  wide.dparams = w.Out(args.dparams, n.params);
  wide.dkernel = w.Out(args.dkernel, n.kernel);
  wide.drecurrent_kernel = w.Out(args.drecurrent_kernel, n.recurrent_kernel);
  wide.dbias = w.Out(args.dbias, n.bias);
  return wide;
}

template <typename Narrow>
RnnPackArgs Widen(const RnnPackArgs& args, Widened<Narrow>& w) {
  RnnPackArgs wide = args;
  if (UsesPairs(args.problem)) return wide;
  RnnCounts n = CountsOf(args.problem);
  n.input_mask = n.recurrent_mask = 0;
  wide.params = w.In(args.params, n.params);
  wide.layer = WidenLayer(args.layer, n, w);
  return wide;
}

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

// What forward and backward share of their arguments.
template <typename Narrow, typename Args>
void WidenBlockLstmInputs(const Args& args, const BlockLstmCounts& n, Widened<Narrow>& w,
                          Args* wide) {
  wide->x = w.In(args.x, n.x);
  wide->cs_prev = w.In(args.cs_prev, n.state);
  wide->h_prev = w.In(args.h_prev, n.state);
  wide->w = w.In(args.w, n.w);
  wide->wci = w.In(args.wci, n.units);
  wide->wcf = w.In(args.wcf, n.units);
  wide->wco = w.In(args.wco, n.units);
  wide->b = w.In(args.b, n.b);
}

template <typename Narrow>
BlockLstmForwardArgs Widen(const BlockLstmForwardArgs& args, Widened<Narrow>& w) {
  const BlockLstmCounts n = CountsOf(args.problem);
  BlockLstmForwardArgs wide = args;
  WidenBlockLstmInputs(args, n, w, &wide);
  wide.i = w.Out(args.i, n.steps);
  wide.cs = w.Out(args.cs, n.steps);
  wide.f = w.Out(args.f, n.steps);
  wide.o = w.Out(args.o, n.steps);
  wide.ci = w.Out(args.ci, n.steps);
  wide.co = w.Out(args.co, n.steps);
  wide.h = w.Out(args.h, n.steps);
  return wide;
}

template <typename Narrow>
BlockLstmBackwardArgs Widen(const BlockLstmBackwardArgs& args, Widened<Narrow>& w) {
  const BlockLstmCounts n = CountsOf(args.problem);
  BlockLstmBackwardArgs wide = args;
  WidenBlockLstmInputs(args, n, w, &wide);
  wide.i = w.In(args.i, n.steps);
  wide.cs = w.In(args.cs, n.steps);
  wide.f = w.In(args.f, n.steps);
  wide.o = w.In(args.o, n.steps);
  wide.ci = w.In(args.ci, n.steps);
  wide.co = w.In(args.co, n.steps);
  wide.h = w.In(args.h, n.steps);
  wide.cs_grad = w.In(args.cs_grad, n.steps);
  wide.h_grad = w.In(args.h_grad, n.steps);
  wide.x_grad = w.Out(args.x_grad, n.x);
  wide.cs_prev_grad = w.Out(args.cs_prev_grad, n.state);
  wide.h_prev_grad = w.Out(args.h_prev_grad, n.state);
  wide.w_grad = w.Out(args.w_grad, n.w);
  wide.wci_grad = w.Out(args.wci_grad, n.units);
  wide.wcf_grad = w.Out(args.wcf_grad, n.units);
  wide.wco_grad = w.Out(args.wco_grad, n.units);
  wide.b_grad = w.Out(args.b_grad, n.b);
  return wide;
}

// ---- One pass on operands E. `narrow` has the op's own tensors, `wide` those in T ----

template <typename T, typename E>
int32_t RunPass(const RnnForwardArgs& wide, const RnnForwardArgs& narrow) {
  return Forward<T, E>(wide, narrow.x, narrow.y);
}
template <typename T, typename E>
int32_t RunPass(const RnnBackwardArgs& wide, const RnnBackwardArgs&) {
  return Backward<T, E>(wide);
}
template <typename T, typename E>
int32_t RunPass(const RnnPackArgs& wide, const RnnPackArgs&) {
  Pack<T, E>(wide);
  return 0;
}
template <typename T, typename E>
int32_t RunPass(const BlockLstmForwardArgs& wide, const BlockLstmForwardArgs&) {
  return RunBlockLstmForward<T>(wide);
}
template <typename T, typename E>
int32_t RunPass(const BlockLstmBackwardArgs& wide, const BlockLstmBackwardArgs&) {
  return RunBlockLstmBackward<T>(wide);
}

template <typename T, typename E>
RnnSizes SizesOf(const RnnForwardArgs& args) {
  return ForwardSizes<T, E>(args.problem, args.parallel.threads);
}
template <typename T, typename E>
RnnSizes SizesOf(const RnnBackwardArgs& args) {
  return BackwardSizes<T, E>(args.problem, args.parallel.threads);
}
template <typename T, typename E>
RnnSizes SizesOf(const RnnPackArgs&) {
  return {};
}
template <typename T, typename E>
RnnSizes SizesOf(const BlockLstmForwardArgs& args) {
  Arena arena;
  MakeBlockLstmForwardPlan<T>(args.problem, args.parallel.threads, arena);
  return {arena.bytes(), 0};
}
template <typename T, typename E>
RnnSizes SizesOf(const BlockLstmBackwardArgs& args) {
  Arena arena;
  MakeBlockLstmBackwardPlan<T>(args.problem, args.parallel.threads, arena);
  return {arena.bytes(), 0};
}

// ---- The choice ----

template <typename T, typename E = T>
struct Operands {
  using Type = T;
  using Operand = E;
};

// fn(Operands) of a problem of the stack in float32 or of a 16-bit type.
template <typename F>
auto WithFloatOperands(const RnnProblem& p, F&& fn) {
  if constexpr (kHasPairs) {
    if (UsesPairs(p)) return fn(Operands<float, Pair>());
  }
  return fn(Operands<float>());
}
template <typename F>
auto WithFloatOperands(const BlockLstmProblem&, F&& fn) {
  return fn(Operands<float>());
}

template <typename Narrow, typename Args>
int32_t RunWidened(const Args& args) {
  Arena arena(args.scratch);
  Widened<Narrow> widened(arena, &args.parallel);
  Args wide = Widen(args, widened);
  wide.scratch = arena.template Take<char>(0);
  const int32_t result = WithFloatOperands(args.problem, [&](auto o) {
    return RunPass<float, typename decltype(o)::Operand>(wide, args);
  });
  if (result == 0) widened.Round();
  return result;
}

template <typename Narrow, typename Args>
RnnSizes WidenedSizes(const Args& args) {
  Arena arena;
  Widened<Narrow> widened(arena, nullptr);
  Widen(args, widened);
  RnnSizes sizes = WithFloatOperands(
      args.problem, [&](auto o) { return SizesOf<float, typename decltype(o)::Operand>(args); });
  const bool fits = arena.bytes() >= 0 && sizes.scratch_bytes >= 0;
  sizes.scratch_bytes = fits ? sizes.scratch_bytes + arena.bytes() : -1;
  return sizes;
}

template <typename Args>
int32_t Run(const Args* args) {
  switch (args->problem.dtype) {
    case kFloat64:
      return RunPass<double, double>(*args, *args);
    case kFloat16:
      return RunWidened<Eigen::half>(*args);
    case kBFloat16:
      return RunWidened<Eigen::bfloat16>(*args);
    default:
      return RunPass<float, float>(*args, *args);
  }
}

template <typename Args, typename Problem>
RnnSizes SizesOfPass(const Problem& problem, const ThreadBudget& threads) {
  Args args = {};
  args.problem = problem;
  args.parallel.threads = threads;
  switch (problem.dtype) {
    case kFloat64:
      return SizesOf<double, double>(args);
    case kFloat16:
      return WidenedSizes<Eigen::half>(args);
    case kBFloat16:
      return WidenedSizes<Eigen::bfloat16>(args);
    default:
      return SizesOf<float, float>(args);
  }
}

inline RnnSizes RnnForwardSizes(const RnnProblem* p, const ThreadBudget* threads) {
  return SizesOfPass<RnnForwardArgs>(*p, *threads);
}
inline RnnSizes RnnBackwardSizes(const RnnProblem* p, const ThreadBudget* threads) {
  return SizesOfPass<RnnBackwardArgs>(*p, *threads);
}
inline int64_t BlockLstmForwardScratch(const BlockLstmProblem* p, const ThreadBudget* threads) {
  return SizesOfPass<BlockLstmForwardArgs>(*p, *threads).scratch_bytes;
}
inline int64_t BlockLstmBackwardScratch(const BlockLstmProblem* p, const ThreadBudget* threads) {
  return SizesOfPass<BlockLstmBackwardArgs>(*p, *threads).scratch_bytes;
}

inline RnnPackSizes RnnPackedSizes(const RnnProblem* p) {
  const int64_t scratch = SizesOfPass<RnnPackArgs>(*p, ThreadBudget{}).scratch_bytes;
  if (p->dtype == kFloat64) return {scratch, AllPackedBytes<double>(*p), kPackedArithmetic};
  return WithFloatOperands(*p, [&](auto o) -> RnnPackSizes {
    using E = typename decltype(o)::Operand;
    return {scratch, AllPackedBytes<float, E>(*p),
            std::is_same_v<E, float> ? kPackedArithmetic : kPackedBFloat16Pairs};
  });
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PASS_ENTRY_H_
