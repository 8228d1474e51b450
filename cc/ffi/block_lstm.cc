// BlockLSTMV2 and its gradient.
#include <cstring>

#include "cc/core/op_io.h"
#include "cc/core/shapes.h"
#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/rnn_run.h"
#include "cc/ffi/ops.h"

namespace rnn_ops {
namespace ffi {
namespace {

using In = BlockLstmInput;

BlockLstmInputShapes InputShapes(const Call& call) {
  BlockLstmInputShapes shapes;
  shapes.seq_len_max = call.shape(In::kSeqLenMax);
  shapes.x = call.shape(In::kX);
  shapes.cs_prev = call.shape(In::kCsPrev);
  shapes.h_prev = call.shape(In::kHPrev);
  shapes.w = call.shape(In::kW);
  shapes.wci = call.shape(In::kWci);
  shapes.wcf = call.shape(In::kWcf);
  shapes.wco = call.shape(In::kWco);
  shapes.b = call.shape(In::kB);
  return shapes;
}

// After the shapes: the value of seq_len_max and what both ops begin with.
template <typename Args>
Status SetCommon(Call* call, const BlockLstmDims& dims, Args* args) {
  int64_t seq_len_max = 0;
  std::memcpy(&seq_len_max, call->data(In::kSeqLenMax), sizeof(seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(ValidateBlockLstm(dims, seq_len_max));
  args->problem = cpu::MakeBlockLstmProblem(dims, call->dtype(), seq_len_max);
  bool use_peephole = false;
  RNN_OPS_RETURN_IF_ERROR(call->Attr("use_peephole", &use_peephole));
  args->problem.use_peephole = use_peephole ? 1 : 0;
  args->parallel = call->parallel();
  args->x = call->data(In::kX);
  args->cs_prev = call->data(In::kCsPrev);
  args->h_prev = call->data(In::kHPrev);
  args->w = call->data(In::kW);
  args->wci = call->data(In::kWci);
  args->wcf = call->data(In::kWcf);
  args->wco = call->data(In::kWco);
  args->b = call->data(In::kB);
  return Status();
}

// Nothing to compute: every output is zero.
bool IsEmpty(const cpu::BlockLstmProblem& problem) {
  return problem.batch == 0 || problem.seq_len == 0;
}

}  // namespace

Status BlockLstm(Call* call) {
  using Out = BlockLstmOutput;
  RNN_OPS_RETURN_IF_ERROR(call->Take("lTTTTTTTT", "TTTTTTT"));
  BlockLstmDims dims;
  RNN_OPS_RETURN_IF_ERROR(InferBlockLstm(InputShapes(*call), &dims));
  const PartialShape shape = PartialShape::Of({dims.max_time, dims.batch, dims.num_units});
  for (int k = 0; k < Out::kCount; ++k) {
    RNN_OPS_RETURN_IF_ERROR(call->RequireResult(k, "Every output", shape));
  }
  cpu::BlockLstmForwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(SetCommon(call, dims, &args));
  float cell_clip = 0;
  RNN_OPS_RETURN_IF_ERROR(call->Attr("cell_clip", &cell_clip));
  args.problem.cell_clip = cell_clip;
  if (IsEmpty(args.problem)) {
    for (int k = 0; k < Out::kCount; ++k) call->Zero(k);
    return Status();
  }
  const cpu::KernelTable& kernels = cpu::Kernels();
  RNN_OPS_RETURN_IF_ERROR(call->Scratch(
      kernels.block_lstm_forward_scratch(&args.problem, &args.parallel.threads), &args.scratch));
  const auto out = [call](int index) { return call->result(index).data; };
  args.i = out(Out::kI);
  args.cs = out(Out::kCs);
  args.f = out(Out::kF);
  args.o = out(Out::kO);
  args.ci = out(Out::kCi);
  args.co = out(Out::kCo);
  args.h = out(Out::kH);
  return cpu::FromKernel(kernels.block_lstm_forward(&args));
}

Status BlockLstmGrad(Call* call) {
  using Out = BlockLstmGradOutput;
  RNN_OPS_RETURN_IF_ERROR(call->Take("lTTTTTTTTTTTTTTTTT", "TTTTTTTT"));
  BlockLstmGradShapes shapes;
  shapes.in = InputShapes(*call);
  shapes.i = call->shape(In::kI);
  shapes.cs = call->shape(In::kCs);
  shapes.f = call->shape(In::kF);
  shapes.o = call->shape(In::kO);
  shapes.ci = call->shape(In::kCi);
  shapes.co = call->shape(In::kCo);
  shapes.h = call->shape(In::kH);
  shapes.cs_grad = call->shape(In::kCsGrad);
  shapes.h_grad = call->shape(In::kHGrad);
  BlockLstmDims dims;
  RNN_OPS_RETURN_IF_ERROR(InferBlockLstmGrad(shapes, &dims));
  // Each gradient has the shape of its input, in the same order from x on.
  for (int k = 0; k < Out::kCount; ++k) {
    RNN_OPS_RETURN_IF_ERROR(call->RequireResult(k, "Each gradient", call->shape(In::kX + k)));
  }
  cpu::BlockLstmBackwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(SetCommon(call, dims, &args));
  if (IsEmpty(args.problem)) {
    for (int k = 0; k < Out::kCount; ++k) call->Zero(k);
    return Status();
  }
  const cpu::KernelTable& kernels = cpu::Kernels();
  RNN_OPS_RETURN_IF_ERROR(call->Scratch(
      kernels.block_lstm_backward_scratch(&args.problem, &args.parallel.threads), &args.scratch));
  args.i = call->data(In::kI);
  args.cs = call->data(In::kCs);
  args.f = call->data(In::kF);
  args.o = call->data(In::kO);
  args.ci = call->data(In::kCi);
  args.co = call->data(In::kCo);
  args.h = call->data(In::kH);
  args.cs_grad = call->data(In::kCsGrad);
  args.h_grad = call->data(In::kHGrad);
  const auto out = [call](int index) { return call->result(index).data; };
  args.x_grad = out(Out::kXGrad);
  args.cs_prev_grad = out(Out::kCsPrevGrad);
  args.h_prev_grad = out(Out::kHPrevGrad);
  args.w_grad = out(Out::kWGrad);
  args.wci_grad = out(Out::kWciGrad);
  args.wcf_grad = out(Out::kWcfGrad);
  args.wco_grad = out(Out::kWcoGrad);
  args.b_grad = out(Out::kBGrad);
  return cpu::FromKernel(kernels.block_lstm_backward(&args));
}

}  // namespace ffi
}  // namespace rnn_ops
