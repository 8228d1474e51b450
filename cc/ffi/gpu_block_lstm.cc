// BlockLSTMV2 and its gradient on a GPU.
#include <vector>

#include "cc/core/op_io.h"
#include "cc/ffi/block_lstm_inputs.h"
#include "cc/ffi/gpu_ops.h"
#include "cc/gpu/block_lstm_gpu.h"

namespace rnn_ops {
namespace ffi {
namespace {

// After the shapes.
Status MakeProblem(const GpuCall& call, const BlockLstmInputs& inputs,
                   gpu::BlockLstmProblem* problem) {
  std::vector<int64_t> seq_len_max;
  RNN_OPS_RETURN_IF_ERROR(call.HostValues(BlockLstmInput::kSeqLenMax, "seq_len_max", &seq_len_max));
  problem->dtype = call.gpu_dtype();
  problem->dims = inputs.dims;
  problem->seq_len_max = seq_len_max[0];
  problem->use_peephole = inputs.use_peephole;
  problem->cell_clip = inputs.cell_clip;
  RNN_OPS_RETURN_IF_ERROR(call.Attr("allow_tf32", &problem->allow_tf32));
  return ValidateBlockLstm(inputs.dims, problem->seq_len_max);
}

}  // namespace

Status GpuBlockLstm(GpuCall* call) {
  BlockLstmInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeBlockLstm(call, &inputs));
  gpu::BlockLstmForwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(*call, inputs, &args.problem));
  SetForwardPointers(*call, &args);
  return gpu::BlockLstmForward(args, call->scratch(), call->stream());
}

Status GpuBlockLstmGrad(GpuCall* call) {
  BlockLstmInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeBlockLstmGrad(call, &inputs));
  gpu::BlockLstmBackwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(*call, inputs, &args.problem));
  SetGradPointers(*call, &args);
  return gpu::BlockLstmBackward(args, call->scratch(), call->stream());
}

}  // namespace ffi
}  // namespace rnn_ops
