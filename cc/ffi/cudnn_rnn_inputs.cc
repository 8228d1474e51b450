#include "cc/ffi/cudnn_rnn_inputs.h"

#include <mutex>
#include <string_view>
#include <unordered_map>

#include "cc/core/op_io.h"
#include "cc/core/shapes.h"

namespace rnn_ops {
namespace ffi {
namespace {

using In = CudnnRnnV3Input;

RnnInputShapes InputShapes(const Tensors& call) {
  RnnInputShapes shapes;
  shapes.input = call.shape(In::kInput);
  shapes.input_h = call.shape(In::kInputH);
  shapes.input_c = call.shape(In::kInputC);
  shapes.params = call.shape(In::kParams);
  shapes.sequence_lengths = call.shape(In::kSequenceLengths);
  return shapes;
}

// The attributes that all ops have.
Status ReadNetwork(const Tensors& call, RnnAttrs* attrs) {
  std::string_view rnn_mode, input_mode, direction;
  RNN_OPS_RETURN_IF_ERROR(call.Attr("rnn_mode", &rnn_mode));
  RNN_OPS_RETURN_IF_ERROR(call.Attr("input_mode", &input_mode));
  RNN_OPS_RETURN_IF_ERROR(call.Attr("direction", &direction));
  RNN_OPS_RETURN_IF_ERROR(call.Attr("num_proj", &attrs->num_proj));
  RNN_OPS_RETURN_IF_ERROR(call.Attr("time_major", &attrs->time_major));
  RNN_OPS_RETURN_IF_ERROR(ParseRnnMode(rnn_mode, &attrs->mode));
  RNN_OPS_RETURN_IF_ERROR(ParseInputMode(input_mode, &attrs->input_mode));
  return ParseDirection(direction, &attrs->direction);
}

// After the attributes.
Status CheckForward(const Tensors& call, CudnnRnnInputs* inputs) {
  using Out = CudnnRnnV3Output;
  const RnnAttrs& attrs = inputs->attrs;
  RNN_OPS_RETURN_IF_ERROR(attrs.Validate());
  RnnDims dims;
  RnnInputShapes shapes = InputShapes(call);
  if (inputs->seed != kAbsent) shapes.seed = call.shape(inputs->seed);
  RNN_OPS_RETURN_IF_ERROR(InferRnn(attrs, shapes, &dims));
  RNN_OPS_RETURN_IF_ERROR(MakeRnnConfig(attrs, shapes, &inputs->config));
  RNN_OPS_RETURN_IF_ERROR(call.RequireResult(Out::kOutput, "output", RnnOutputShape(attrs, dims)));
  RNN_OPS_RETURN_IF_ERROR(
      call.RequireResult(Out::kOutputH, "output_h", RnnOutputHShape(attrs, dims)));
  return call.RequireResult(Out::kOutputC, "output_c", RnnOutputCShape(attrs, dims));
}

}  // namespace

Status TakeCudnnRnn(Tensors* call, CudnnRnnInputs* inputs) {
  RnnAttrs* attrs = &inputs->attrs;
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTi", "TTTTc"));
  RNN_OPS_RETURN_IF_ERROR(ReadNetwork(*call, attrs));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("dropout", &attrs->dropout));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("seed", &attrs->seed));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("seed2", &attrs->seed2));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("is_training", &attrs->is_training));
  inputs->reserve_space = CudnnRnnV3Output::kReserveSpace;
  return CheckForward(*call, inputs);
}

Status TakeStatelessCudnnRnn(Tensors* call, CudnnRnnInputs* inputs) {
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTil", "TTTTc"));
  RNN_OPS_RETURN_IF_ERROR(ReadNetwork(*call, &inputs->attrs));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("dropout", &inputs->attrs.dropout));
  inputs->seed = StatelessCudnnRnnV3Input::kSeed;
  inputs->reserve_space = CudnnRnnV3Output::kReserveSpace;
  return CheckForward(*call, inputs);
}

Status TakeCudnnRnnPacked(Tensors* call, CudnnRnnInputs* inputs) {
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTib", "TTT"));
  RNN_OPS_RETURN_IF_ERROR(ReadNetwork(*call, &inputs->attrs));
  inputs->attrs.is_training = false;
  inputs->packed = CudnnRnnV3PackedInput::kPacked;
  return CheckForward(*call, inputs);
}

Status TakeCudnnRnnBackprop(Tensors* call, CudnnRnnInputs* inputs) {
  using Back = CudnnRnnBackpropV3Input;
  using Out = CudnnRnnBackpropV3Output;
  RnnAttrs* attrs = &inputs->attrs;
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTiTTTTTTTc", "TTTT"));
  RNN_OPS_RETURN_IF_ERROR(ReadNetwork(*call, attrs));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("dropout", &attrs->dropout));
  RNN_OPS_RETURN_IF_ERROR(attrs->Validate());
  RnnBackpropShapes shapes;
  shapes.in = InputShapes(*call);
  shapes.output = call->shape(Back::kOutput);
  shapes.output_h = call->shape(Back::kOutputH);
  shapes.output_c = call->shape(Back::kOutputC);
  shapes.output_backprop = call->shape(Back::kOutputBackprop);
  shapes.output_h_backprop = call->shape(Back::kOutputHBackprop);
  shapes.output_c_backprop = call->shape(Back::kOutputCBackprop);
  shapes.reserve_space = call->shape(Back::kReserveSpace);
  RNN_OPS_RETURN_IF_ERROR(MakeRnnConfig(*attrs, shapes, &inputs->config));
  const PartialShape c_shape = inputs->has_c() ? shapes.in.input_c : PartialShape::Of({});
  RNN_OPS_RETURN_IF_ERROR(
      call->RequireResult(Out::kInputBackprop, "input_backprop", shapes.in.input));
  RNN_OPS_RETURN_IF_ERROR(
      call->RequireResult(Out::kInputHBackprop, "input_h_backprop", shapes.in.input_h));
  RNN_OPS_RETURN_IF_ERROR(call->RequireResult(Out::kInputCBackprop, "input_c_backprop", c_shape));
  return call->RequireResult(Out::kParamsBackprop, "params_backprop", shapes.in.params);
}

Status NextCall(const Tensors& call, uint64_t* number) {
  int64_t call_site = 0;
  RNN_OPS_RETURN_IF_ERROR(call.Attr("call_site", &call_site));
  static std::mutex mutex;
  static auto* const counts = new std::unordered_map<int64_t, uint64_t>;
  const std::lock_guard<std::mutex> lock(mutex);
  *number = (*counts)[call_site]++;
  return Status();
}

}  // namespace ffi
}  // namespace rnn_ops
