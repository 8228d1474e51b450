// LayerRNN, LayerRNNPacked and LayerRNN's gradient on a GPU.
#include <cstdint>

#include "cc/core/op/shapes.h"
#include "cc/gpu/call_args.h"
#include "cc/gpu/layer_gpu.h"
#include "cc/xla/handlers/gpu_ops.h"

namespace rnn_ops::ffi {
namespace {

Status MakeProblem(const OpSpec& op, GpuCall* call, gpu::LayerProblem* problem) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  *problem = gpu::MakeLayerProblem(call->config(), call->dtype(), call->tensors());
  return call->Attr("allow_tf32", &problem->allow_tf32);
}

Status ZeroResults(const GpuCall& call) {
  for (const int k : call.zeros()) RNN_OPS_RETURN_IF_ERROR(call.Fill(k, 0));
  return Status();
}

// The shape of the reserve space, whose size the program that lowered the op chose.
Status CheckReserve(const gpu::LayerProblem& problem, const Buffer& reserve) {
  return CheckReserveSpace(reserve.shape,
                           ReserveElements(gpu::LayerReserveBytes(problem), SizeOf(problem.dtype)));
}

}  // namespace

Status GpuLayerForward(const OpSpec& op, GpuCall* call) {
  gpu::LayerForwardArgs args = {};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &args.problem));
  gpu::SetLayerForward(call->tensors(), &args);
  if (args.problem.is_training) {
    const Buffer& reserve = call->result(op.Output(Arg::reserve_space));
    RNN_OPS_RETURN_IF_ERROR(CheckReserve(args.problem, reserve));
    args.reserve = reserve.data;
  }
  RNN_OPS_RETURN_IF_ERROR(gpu::LayerForward(args, call->scratch(), call->stream()));
  return ZeroResults(*call);
}

Status GpuLayerBackprop(const OpSpec& op, GpuCall* call) {
  gpu::LayerBackwardArgs args = {};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &args.problem));
  gpu::SetLayerBackward(call->tensors(), &args);
  const Buffer& reserve = call->arg(Arg::reserve_space);
  RNN_OPS_RETURN_IF_ERROR(CheckReserve(args.problem, reserve));
  args.reserve = reserve.data;
  RNN_OPS_RETURN_IF_ERROR(gpu::LayerBackward(args, call->scratch(), call->stream()));
  return ZeroResults(*call);
}

}  // namespace rnn_ops::ffi
