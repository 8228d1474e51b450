#include "cc/tf/kernels/block_lstm_call.h"

#include "cc/tf/cached_memory.h"
#include "cc/tf/op_util.h"

namespace rnn_ops {
namespace tf_kernels {

using ::tensorflow::OpKernelContext;
using ::tensorflow::TensorShape;

namespace {

BlockLstmInputShapes InputShapes(OpKernelContext* context) {
  using In = BlockLstmInput;
  const auto shape = [context](int index) { return FromTf(context->input(index).shape()); };
  BlockLstmInputShapes shapes;
  shapes.seq_len_max = shape(In::kSeqLenMax);
  shapes.x = shape(In::kX);
  shapes.cs_prev = shape(In::kCsPrev);
  shapes.h_prev = shape(In::kHPrev);
  shapes.w = shape(In::kW);
  shapes.wci = shape(In::kWci);
  shapes.wcf = shape(In::kWcf);
  shapes.wco = shape(In::kWco);
  shapes.b = shape(In::kB);
  return shapes;
}

// After the shapes: what needs the value of seq_len_max, which InferBlockLstm has made a scalar.
absl::Status Finish(OpKernelContext* context, BlockLstmCall* call) {
  RNN_OPS_TF_RETURN_IF_ERROR(ToKernelDtype(context->input_dtype(BlockLstmInput::kX), &call->dtype));
  call->seq_len_max = ScalarOf<int64_t>(context->input(BlockLstmInput::kSeqLenMax));
  return ToTf(ValidateBlockLstm(call->dims, call->seq_len_max));
}

}  // namespace

absl::Status BlockLstmForwardCall::Prepare(OpKernelContext* context) {
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(InferBlockLstm(InputShapes(context), &dims)));
  RNN_OPS_TF_RETURN_IF_ERROR(Finish(context, this));
  const TensorShape shape({dims.max_time, dims.batch, dims.num_units});
  for (int k = 0; k < BlockLstmOutput::kCount; ++k) {
    RNN_OPS_TF_RETURN_IF_ERROR(AllocateLargeOutput(context, k, shape, &outputs[k]));
  }
  return absl::OkStatus();
}

absl::Status BlockLstmGradCall::Prepare(OpKernelContext* context) {
  using In = BlockLstmInput;
  const auto shape = [context](int index) { return FromTf(context->input(index).shape()); };
  BlockLstmGradShapes shapes;
  shapes.in = InputShapes(context);
  shapes.i = shape(In::kI);
  shapes.cs = shape(In::kCs);
  shapes.f = shape(In::kF);
  shapes.o = shape(In::kO);
  shapes.ci = shape(In::kCi);
  shapes.co = shape(In::kCo);
  shapes.h = shape(In::kH);
  shapes.cs_grad = shape(In::kCsGrad);
  shapes.h_grad = shape(In::kHGrad);
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(InferBlockLstmGrad(shapes, &dims)));
  RNN_OPS_TF_RETURN_IF_ERROR(Finish(context, this));
  // Each gradient has the shape of its input, in the same order from x on.
  for (int k = 0; k < BlockLstmGradOutput::kCount; ++k) {
    RNN_OPS_TF_RETURN_IF_ERROR(
        AllocateLargeOutput(context, k, context->input(In::kX + k).shape(), &outputs[k]));
  }
  return absl::OkStatus();
}

}  // namespace tf_kernels
}  // namespace rnn_ops
