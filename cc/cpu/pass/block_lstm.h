// BlockLSTMV2 and its gradient: one layer and direction whose rows all have seq_len steps, so that
// the rows of the op's tensors [T, B, H] lie as packed rows do.
#ifndef TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_H_
#define TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cc/cpu/cell/block_lstm.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward_products.h"
#include "cc/cpu/pass/backward_recurrence.h"
#include "cc/cpu/pass/forward_recurrence.h"
#include "cc/cpu/pass/peepholes.h"
#include "cc/cpu/pass/rnn_backward.h"
#include "cc/cpu/pass/rnn_forward.h"
#include "cc/cpu/pass/sizes.h"
#include "cc/cpu/pass/weights.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/sequence.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// fn(the cell of a problem).
template <typename F>
auto WithBlockLstm(const BlockLstmProblem& p, F&& fn) {
  if (p.use_peephole) return fn(BlockLstm<true>());
  return fn(BlockLstm<false>());
}

// The steps that are computed, as a problem of the stack in inference. Its LSTM has the same gates
// and sizes, so its memory serves this one's passes.
inline RnnProblem StackOf(const BlockLstmProblem& p) {
  RnnProblem stack;
  stack.dtype = p.dtype;
  stack.is_training = false;
  stack.num_units = p.num_units;
  stack.input_size = p.input_size;
  stack.max_time = p.seq_len;
  stack.batch = p.batch;
  return stack;
}

// w [I + H, 4*H], columns i, f, ci, o.
template <typename W, typename T>
WeightViews<W> BlockLstmViews(const BlockLstmProblem& p, const Sizes<T>& s, W* w, W* b) {
  return MatrixViews(s, w, w + p.input_size * s.gate_units(), b, /*bias_rows=*/1,
                     /*projection=*/static_cast<W*>(nullptr));
}

template <typename T, typename Args>
void SetPeepholes(const Args& args, const Sizes<T>& s, T* padded, BlockLstmTensors<T>* tensors) {
  if (!args.problem.use_peephole) return;
  tensors->wci = PadPeepholes({args.wci, args.wcf, args.wco}, s, padded);
  tensors->wcf = padded + s.padded;
  tensors->wco = padded + 2 * s.padded;
}

// Zeroes rows of `columns` elements from seq_len on.
template <typename T>
void ZeroRest(const BlockLstmProblem& p, void* tensor, int64_t columns) {
  const int64_t done = p.seq_len * p.batch * columns;
  const int64_t rest = (p.max_time - p.seq_len) * p.batch * columns;
  if (rest > 0) std::memset(static_cast<T*>(tensor) + done, 0, sizeof(T) * rest);
}

// A state [B, H].
template <typename T, typename Tensor>
StateRows<T> BlockState(const BlockLstmProblem& p, Tensor* tensor) {
  return {static_cast<T*>(tensor), p.num_units, 0, 1};
}

// The plan of a pass, and behind it room for the peephole weights, [3, padded].
template <typename T>
ForwardPlan<T> MakeForwardPlan(const BlockLstmProblem& p, const ThreadBudget& threads, Arena& arena,
                               T** peepholes) {
  const ForwardPlan<T> plan =
      MakeForwardPlan<T, T>(StackOf(p), /*plain_weights=*/false, threads, arena);
  *peepholes = arena.Take<T>(3 * plan.layer.sizes.padded);
  return plan;
}

template <typename T>
BackwardPlan<T> MakeBackwardPlan(const BlockLstmProblem& p, const ThreadBudget& threads,
                                 Arena& arena, T** peepholes) {
  const BackwardPlan<T> plan = MakeBackwardPlan<T, T>(StackOf(p), threads, arena);
  *peepholes = arena.Take<T>(3 * plan.layer.sizes.padded);
  return plan;
}

template <typename T>
int32_t RunBlockLstmForward(const BlockLstmForwardArgs& args) {
  const BlockLstmProblem& p = args.problem;
  Arena arena(args.scratch);
  T* peepholes;
  ForwardPlan<T> plan = MakeForwardPlan(p, args.parallel.threads, arena, &peepholes);
  ForwardLayer<T>& layer = plan.layer;
  const Sizes<T>& s = layer.sizes;
  auto in = [](const void* tensor) { return static_cast<const T*>(tensor); };
  auto out = [](void* tensor) { return static_cast<T*>(tensor); };
  layer.seq = &plan.seq;
  layer.in = p.input_size;
  layer.operand_x = UserRows(plan.seq, in(args.x), p.input_size);
  layer.y = UserRows(plan.seq, out(args.h), p.num_units);
  layer.h0 = BlockState<const T>(p, args.h_prev);
  layer.c0 = BlockState<const T>(p, args.cs_prev);
  layer.c_row = p.num_units;
  layer.dirs[0].c = out(args.cs);
  layer.dirs[0].source = BlockLstmViews(p, s, in(args.w), in(args.b));
  BlockLstmTensors<T> tensors = {};
  tensors.clip = p.cell_clip > 0 ? static_cast<T>(p.cell_clip) : T(0);
  tensors.i = out(args.i), tensors.f = out(args.f), tensors.o = out(args.o);
  tensors.ci = out(args.ci), tensors.co = out(args.co);
  SetPeepholes(args, s, peepholes, &tensors);
  PackForwardWeights(layer, p.input_size, plan.split, args.parallel);
  layer.cells = WithBlockLstm(
      p, [&](auto cell) { return CellRunnerOf<decltype(cell), T, T>(layer.reads, &tensors); });
  RunForwardRecurrence(layer, plan.split, args.parallel);
  for (void* tensor : {args.i, args.cs, args.f, args.o, args.ci, args.co, args.h}) {
    ZeroRest<T>(p, tensor, p.num_units);
  }
  return 0;
}

template <typename T>
int32_t RunBlockLstmBackward(const BlockLstmBackwardArgs& args) {
  const BlockLstmProblem& p = args.problem;
  Arena arena(args.scratch);
  T* peepholes;
  BackwardPlan<T> plan = MakeBackwardPlan(p, args.parallel.threads, arena, &peepholes);
  BackwardLayer<T>& layer = plan.layer;
  const Sizes<T>& s = layer.sizes;
  auto in = [](const void* tensor) { return static_cast<const T*>(tensor); };
  auto out = [](void* tensor) { return static_cast<T*>(tensor); };
  layer.seq = &plan.seq;
  layer.in = p.input_size;
  layer.x = UserRows(plan.seq, in(args.x), p.input_size);
  layer.y = UserRows(plan.seq, in(args.h), p.num_units);
  layer.dy = UserRows(plan.seq, in(args.h_grad), p.num_units);
  layer.dx = UserRows(plan.seq, out(args.x_grad), p.input_size);
  layer.h0 = BlockState<const T>(p, args.h_prev);
  layer.c0 = BlockState<const T>(p, args.cs_prev);
  layer.dh0 = BlockState<T>(p, args.h_prev_grad);
  layer.dc0 = BlockState<T>(p, args.cs_prev_grad);
  layer.c_row = p.num_units;
  layer.dirs[0].c = in(args.cs);
  // Backward only reads what is an output of forward.
  auto read = [](const void* tensor) { return static_cast<T*>(const_cast<void*>(tensor)); };
  BlockLstmTensors<T> tensors = {};
  tensors.i = read(args.i), tensors.f = read(args.f), tensors.o = read(args.o);
  tensors.ci = read(args.ci), tensors.co = read(args.co);
  tensors.cs_grad = in(args.cs_grad);
  SetPeepholes(args, s, peepholes, &tensors);
  const WeightViews<const T> source = BlockLstmViews(p, s, in(args.w), in(args.b));
  const WeightViews<T> target = BlockLstmViews(p, s, out(args.w_grad), out(args.b_grad));
  ZeroRest<T>(p, args.x_grad, p.input_size);
  PackBackwardWeights(layer, &source, plan.split, args.parallel);
  layer.cells =
      WithBlockLstm(p, [&](auto cell) { return GradientRunnerOf<decltype(cell), T, T>(&tensors); });
  RunBackwardRecurrence(layer, plan.split, args.parallel);
  RunBackwardProducts(layer, &target, args.parallel);
  if (p.use_peephole) {
    PeepholeGradients(layer, {args.wci_grad, args.wcf_grad, args.wco_grad}, args.parallel);
  } else {
    for (void* grad : {args.wci_grad, args.wcf_grad, args.wco_grad}) {
      std::memset(grad, 0, sizeof(T) * s.units);
    }
  }
  return 0;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_H_
