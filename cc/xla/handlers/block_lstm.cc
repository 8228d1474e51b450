// BlockLSTMV2 and its gradient on the CPU.
#include <cstring>

#include "cc/core/op/shapes.h"
#include "cc/cpu/call/op_run.h"
#include "cc/xla/handlers/ops.h"

namespace rnn_ops::ffi {
namespace {

Status MakeProblem(const OpSpec& op, Call* call, cpu::BlockLstmProblem* problem) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  int64_t seq_len_max = 0;
  std::memcpy(&seq_len_max, call->tensors().in(Arg::seq_len_max), sizeof(seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(CheckRunTimeSizes(seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(MakeBlockLstmConfig(call->dims(), seq_len_max, problem));
  problem->dtype = call->dtype();
  return call->Attr("use_peephole", &problem->use_peephole);
}

}  // namespace

Status BlockLstm(const OpSpec& op, Call* call) {
  cpu::BlockLstmProblem problem;
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &problem));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("cell_clip", &problem.cell_clip));
  return cpu::RunBlockLstmForward(problem, call->tensors(), call);
}

Status BlockLstmGrad(const OpSpec& op, Call* call) {
  cpu::BlockLstmProblem problem;
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &problem));
  return cpu::RunBlockLstmBackward(problem, call->tensors(), call);
}

}  // namespace rnn_ops::ffi
