// The table entries of the block LSTM: picks the type of the arithmetic.
#ifndef TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_ENTRY_H_
#define TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_ENTRY_H_

#include <cstdint>

#include "Eigen/Core"
#include "cc/cpu/pass/block_lstm_backward.h"
#include "cc/cpu/pass/block_lstm_forward.h"
#include "cc/cpu/rows/narrow.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

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
BlockLstmForwardArgs WidenBlockLstm(const BlockLstmForwardArgs& args, Widened<Narrow>& w) {
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
BlockLstmBackwardArgs WidenBlockLstm(const BlockLstmBackwardArgs& args, Widened<Narrow>& w) {
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

template <typename T>
int64_t BytesOf(const BlockLstmForwardArgs& args, const ThreadBudget& threads) {
  return BlockLstmForwardBytes<T>(args.problem, threads);
}
template <typename T>
int64_t BytesOf(const BlockLstmBackwardArgs& args, const ThreadBudget& threads) {
  return BlockLstmBackwardBytes<T>(args.problem, threads);
}
template <typename T>
int32_t Run(const BlockLstmForwardArgs& args) {
  return RunBlockLstmForward<T>(args);
}
template <typename T>
int32_t Run(const BlockLstmBackwardArgs& args) {
  return RunBlockLstmBackward<T>(args);
}

template <typename Narrow, typename Args>
int64_t WidenedBlockLstmBytes(const Args& args, const ThreadBudget& threads) {
  Arena arena;
  Widened<Narrow> widened(arena, nullptr);
  WidenBlockLstm(args, widened);
  const int64_t bytes = BytesOf<float>(args, threads);
  return arena.bytes() < 0 || bytes < 0 ? -1 : arena.bytes() + bytes;
}

template <typename Narrow, typename Args>
int32_t RunWidenedBlockLstm(const Args& args) {
  Arena arena(args.scratch);
  Widened<Narrow> widened(arena, &args.parallel);
  Args wide = WidenBlockLstm(args, widened);
  wide.scratch = arena.Take<char>(0);
  const int32_t result = Run<float>(wide);
  widened.Round();
  return result;
}

template <typename Args>
int64_t BlockLstmScratch(const BlockLstmProblem& p, const ThreadBudget& threads) {
  Args args = {};
  args.problem = p;
  switch (p.dtype) {
    case kFloat64:
      return BytesOf<double>(args, threads);
    case kFloat16:
      return WidenedBlockLstmBytes<Eigen::half>(args, threads);
    case kBFloat16:
      return WidenedBlockLstmBytes<Eigen::bfloat16>(args, threads);
    default:
      return BytesOf<float>(args, threads);
  }
}

template <typename Args>
int32_t RunBlockLstm(const Args& args) {
  switch (args.problem.dtype) {
    case kFloat64:
      return Run<double>(args);
    case kFloat16:
      return RunWidenedBlockLstm<Eigen::half>(args);
    case kBFloat16:
      return RunWidenedBlockLstm<Eigen::bfloat16>(args);
    default:
      return Run<float>(args);
  }
}

inline int64_t BlockLstmForwardScratch(const BlockLstmProblem* p, const ThreadBudget* threads) {
  return BlockLstmScratch<BlockLstmForwardArgs>(*p, *threads);
}
inline int32_t BlockLstmForward(const BlockLstmForwardArgs* args) { return RunBlockLstm(*args); }
inline int64_t BlockLstmBackwardScratch(const BlockLstmProblem* p, const ThreadBudget* threads) {
  return BlockLstmScratch<BlockLstmBackwardArgs>(*p, *threads);
}
inline int32_t BlockLstmBackward(const BlockLstmBackwardArgs* args) { return RunBlockLstm(*args); }

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PASS_BLOCK_LSTM_ENTRY_H_
