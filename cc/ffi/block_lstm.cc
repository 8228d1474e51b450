// BlockLSTMV2 and its gradient on the CPU.
#include <cstring>

#include "cc/core/call_tensors.h"
#include "cc/core/shapes.h"
#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/rnn_run.h"
#include "cc/ffi/ops.h"

namespace rnn_ops {
namespace ffi {
namespace {

// After the attributes of the problem. `Scratch` and `Run` are functions of the kernel table.
template <typename Args, typename Scratch, typename Run>
Status RunOnCpu(Call* call, Args* args, Scratch scratch_bytes, Run run) {
  if (args->problem.empty()) {
    for (int k = 0; k < call->op().num_outputs(); ++k) call->Zero(k);
    return Status();
  }
  args->parallel = call->parallel();
  RNN_OPS_RETURN_IF_ERROR(
      call->Scratch(scratch_bytes(&args->problem, &args->parallel.threads), &args->scratch));
  return cpu::FromKernel(run(args));
}

Status MakeProblem(const OpSpec& op, Call* call, cpu::BlockLstmProblem* problem) {
  RNN_OPS_RETURN_IF_ERROR(call->Take(op));
  int64_t seq_len_max = 0;
  std::memcpy(&seq_len_max, call->tensors().in("seq_len_max"), sizeof(seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(CheckRunTimeSizes(seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(MakeBlockLstmConfig(call->dims(), seq_len_max, problem));
  problem->dtype = call->dtype();
  return call->Attr("use_peephole", &problem->use_peephole);
}

}  // namespace

Status BlockLstm(const OpSpec& op, Call* call) {
  cpu::BlockLstmForwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &args.problem));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("cell_clip", &args.problem.cell_clip));
  SetBlockLstmForward(call->tensors(), &args);
  const cpu::KernelTable& kernels = cpu::Kernels();
  return RunOnCpu(call, &args, kernels.block_lstm_forward_scratch, kernels.block_lstm_forward);
}

Status BlockLstmGrad(const OpSpec& op, Call* call) {
  cpu::BlockLstmBackwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &args.problem));
  SetBlockLstmBackward(call->tensors(), &args);
  const cpu::KernelTable& kernels = cpu::Kernels();
  return RunOnCpu(call, &args, kernels.block_lstm_backward_scratch, kernels.block_lstm_backward);
}

}  // namespace ffi
}  // namespace rnn_ops
