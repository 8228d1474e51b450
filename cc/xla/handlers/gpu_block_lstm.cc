// BlockLSTMV2 and its gradient on a GPU.
#include <vector>

#include "cc/core/op/shapes.h"
#include "cc/gpu/call_args.h"
#include "cc/gpu/steps/block_lstm_gpu.h"
#include "cc/xla/handlers/gpu_ops.h"

namespace rnn_ops::ffi {
namespace {

Status MakeProblem(const OpSpec& op, GpuCall* call, gpu::BlockLstmProblem* problem) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  std::vector<int64_t> seq_len_max;
  RNN_OPS_RETURN_IF_ERROR(
      call->HostValues(op.Input(Arg::seq_len_max), "seq_len_max", &seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(CheckRunTimeSizes(seq_len_max[0]));
  RNN_OPS_RETURN_IF_ERROR(MakeBlockLstmConfig(call->dims(), seq_len_max[0], problem));
  problem->dtype = call->dtype();
  RNN_OPS_RETURN_IF_ERROR(call->Attr("use_peephole", &problem->use_peephole));
  return call->Attr("allow_tf32", &problem->allow_tf32);
}

}  // namespace

Status GpuBlockLstm(const OpSpec& op, GpuCall* call) {
  gpu::BlockLstmForwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &args.problem));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("cell_clip", &args.problem.cell_clip));
  gpu::SetBlockLstmForward(call->tensors(), &args);
  return gpu::BlockLstmForward(args, call->scratch(), call->stream());
}

Status GpuBlockLstmGrad(const OpSpec& op, GpuCall* call) {
  gpu::BlockLstmBackwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &args.problem));
  gpu::SetBlockLstmBackward(call->tensors(), &args);
  return gpu::BlockLstmBackward(args, call->scratch(), call->stream());
}

}  // namespace rnn_ops::ffi
