#include "cc/ffi/block_lstm_inputs.h"

namespace rnn_ops {
namespace ffi {
namespace {

using In = BlockLstmInput;

BlockLstmInputShapes InputShapes(const Tensors& call) {
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

}  // namespace

Status TakeBlockLstm(Tensors* call, BlockLstmInputs* inputs) {
  RNN_OPS_RETURN_IF_ERROR(call->Take("lTTTTTTTT", "TTTTTTT"));
  BlockLstmDims& dims = inputs->dims;
  RNN_OPS_RETURN_IF_ERROR(InferBlockLstm(InputShapes(*call), &dims));
  const PartialShape shape = PartialShape::Of({dims.max_time, dims.batch, dims.num_units});
  for (int k = 0; k < BlockLstmOutput::kCount; ++k) {
    RNN_OPS_RETURN_IF_ERROR(call->RequireResult(k, "Every output", shape));
  }
  RNN_OPS_RETURN_IF_ERROR(call->Attr("use_peephole", &inputs->use_peephole));
  return call->Attr("cell_clip", &inputs->cell_clip);
}

Status TakeBlockLstmGrad(Tensors* call, BlockLstmInputs* inputs) {
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
  RNN_OPS_RETURN_IF_ERROR(InferBlockLstmGrad(shapes, &inputs->dims));
  // Each gradient has the shape of its input, in the same order from x on.
  for (int k = 0; k < BlockLstmGradOutput::kCount; ++k) {
    RNN_OPS_RETURN_IF_ERROR(call->RequireResult(k, "Each gradient", call->shape(In::kX + k)));
  }
  return call->Attr("use_peephole", &inputs->use_peephole);
}

}  // namespace ffi
}  // namespace rnn_ops
