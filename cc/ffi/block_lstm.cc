// BlockLSTMV2 and its gradient on the CPU.
#include <cstring>

#include "cc/core/op_io.h"
#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/rnn_run.h"
#include "cc/ffi/block_lstm_inputs.h"
#include "cc/ffi/ops.h"

namespace rnn_ops {
namespace ffi {
namespace {

// What both ops begin with, after the shapes.
template <typename Args>
Status SetCommon(Call* call, const BlockLstmInputs& inputs, Args* args) {
  int64_t seq_len_max = 0;
  std::memcpy(&seq_len_max, call->data(BlockLstmInput::kSeqLenMax), sizeof(seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(ValidateBlockLstm(inputs.dims, seq_len_max));
  args->problem = cpu::MakeBlockLstmProblem(inputs.dims, call->dtype(), seq_len_max);
  args->problem.use_peephole = inputs.use_peephole ? 1 : 0;
  args->problem.cell_clip = inputs.cell_clip;
  args->parallel = call->parallel();
  return Status();
}

// Nothing to compute: every output is zero.
bool IsEmpty(const cpu::BlockLstmProblem& problem) {
  return problem.batch == 0 || problem.seq_len == 0;
}

}  // namespace

Status BlockLstm(Call* call) {
  BlockLstmInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeBlockLstm(call, &inputs));
  cpu::BlockLstmForwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(SetCommon(call, inputs, &args));
  if (IsEmpty(args.problem)) {
    for (int k = 0; k < BlockLstmOutput::kCount; ++k) call->Zero(k);
    return Status();
  }
  const cpu::KernelTable& kernels = cpu::Kernels();
  RNN_OPS_RETURN_IF_ERROR(call->Scratch(
      kernels.block_lstm_forward_scratch(&args.problem, &args.parallel.threads), &args.scratch));
  SetForwardPointers(*call, &args);
  return cpu::FromKernel(kernels.block_lstm_forward(&args));
}

Status BlockLstmGrad(Call* call) {
  BlockLstmInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeBlockLstmGrad(call, &inputs));
  cpu::BlockLstmBackwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(SetCommon(call, inputs, &args));
  if (IsEmpty(args.problem)) {
    for (int k = 0; k < BlockLstmGradOutput::kCount; ++k) call->Zero(k);
    return Status();
  }
  const cpu::KernelTable& kernels = cpu::Kernels();
  RNN_OPS_RETURN_IF_ERROR(call->Scratch(
      kernels.block_lstm_backward_scratch(&args.problem, &args.parallel.threads), &args.scratch));
  SetGradPointers(*call, &args);
  return cpu::FromKernel(kernels.block_lstm_backward(&args));
}

}  // namespace ffi
}  // namespace rnn_ops
