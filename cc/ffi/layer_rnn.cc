// LayerRNN, LayerRNNPacked and their gradient.
#include <string_view>
#include <utility>

#include "cc/core/op_io.h"
#include "cc/core/shapes.h"
#include "cc/ffi/ops.h"
#include "cc/ffi/rnn_call.h"

namespace rnn_ops {
namespace ffi {
namespace {

using In = LayerRnnInput;

enum class Masks { kInputs, kNone };  // where an op has its masks

LayerRnnInputShapes InputShapes(const Call& call, Masks masks) {
  LayerRnnInputShapes shapes;
  shapes.input = call.shape(In::kInput);
  shapes.input_h = call.shape(In::kInputH);
  shapes.input_c = call.shape(In::kInputC);
  shapes.kernel = call.shape(In::kKernel);
  shapes.recurrent_kernel = call.shape(In::kRecurrentKernel);
  shapes.bias = call.shape(In::kBias);
  shapes.sequence_lengths = call.shape(In::kSequenceLengths);
  if (masks == Masks::kNone) {
    shapes.input_mask = shapes.recurrent_mask = PartialShape::Of({0});
  } else {
    shapes.input_mask = call.shape(In::kInputMask);
    shapes.recurrent_mask = call.shape(In::kRecurrentMask);
  }
  return shapes;
}

Status ReadAttrs(const Call& call, RnnAttrs* attrs) {
  std::string_view rnn_mode;
  RNN_OPS_RETURN_IF_ERROR(call.Attr("rnn_mode", &rnn_mode));
  for (const auto& [name, activation] :
       {std::make_pair("activation", &attrs->activation),
        std::make_pair("recurrent_activation", &attrs->recurrent_activation)}) {
    std::string_view text;
    RNN_OPS_RETURN_IF_ERROR(call.Attr(name, &text));
    RNN_OPS_RETURN_IF_ERROR(ParseActivation(name, text, activation));
  }
  RNN_OPS_RETURN_IF_ERROR(call.Attr("time_major", &attrs->time_major));
  return ParseRnnMode(rnn_mode, &attrs->mode);
}

// After the shapes: the configuration and the lengths.
Status TakeProblem(const Call& call, const RnnAttrs& attrs, const RnnDims& dims, RnnCall* rnn) {
  RNN_OPS_RETURN_IF_ERROR(MakeLayerRnnConfig(attrs, dims, &rnn->config));
  const bool lengths = !IsAbsent(call.shape(In::kSequenceLengths));
  return rnn->TakeLengths(call, lengths ? static_cast<int>(In::kSequenceLengths) : kAbsent);
}

// Sets what forward and backward have in common.
template <typename Args>
void SetCommon(const Call& call, Masks masks, const RnnCall& rnn, Args* args) {
  const auto optional = [&call](int index) {
    return IsAbsent(call.shape(index)) ? nullptr : call.data(index);
  };
  args->problem = rnn.MakeProblem(call);
  args->problem.weight_layout = cpu::kKerasWeights;
  args->layer.kernel = call.data(In::kKernel);
  args->layer.recurrent_kernel = call.data(In::kRecurrentKernel);
  args->layer.bias = optional(In::kBias);
  args->problem.bias_rows =
      args->layer.bias == nullptr ? 0 : static_cast<int32_t>(call.shape(In::kBias).dims.size());
  if (masks == Masks::kInputs) {
    args->layer.input_mask = optional(In::kInputMask);
    args->layer.recurrent_mask = optional(In::kRecurrentMask);
    args->problem.input_masked = args->layer.input_mask != nullptr ? 1 : 0;
    args->problem.recurrent_masked = args->layer.recurrent_mask != nullptr ? 1 : 0;
  }
  args->x = call.data(In::kInput);
  args->h0 = call.data(In::kInputH);
  if (rnn.config.mode == RnnMode::kLstm) args->c0 = call.data(In::kInputC);
}

Status Forward(Call* call, const RnnAttrs& attrs, Masks masks, int reserve_space, int packed) {
  using Out = LayerRnnOutput;
  RnnDims dims;
  RNN_OPS_RETURN_IF_ERROR(InferLayerRnn(attrs, InputShapes(*call, masks), &dims));
  const bool has_c = attrs.mode == RnnMode::kLstm;
  const PartialShape state = PartialShape::Of({dims.batch, dims.num_units});
  RNN_OPS_RETURN_IF_ERROR(call->RequireResult(Out::kOutput, "output", RnnOutputShape(attrs, dims)));
  RNN_OPS_RETURN_IF_ERROR(call->RequireResult(Out::kOutputH, "output_h", state));
  RNN_OPS_RETURN_IF_ERROR(
      call->RequireResult(Out::kOutputC, "output_c", has_c ? state : PartialShape::Of({})));
  RnnCall rnn;
  RNN_OPS_RETURN_IF_ERROR(TakeProblem(*call, attrs, dims, &rnn));
  cpu::RnnForwardArgs args{};
  SetCommon(*call, masks, rnn, &args);
  args.y = call->result(Out::kOutput).data;
  args.h_n = call->result(Out::kOutputH).data;
  if (has_c) {
    args.c_n = call->result(Out::kOutputC).data;
  } else {
    call->Zero(Out::kOutputC);
  }
  return RunForward(call, rnn, reserve_space, packed, &args);
}

}  // namespace

Status LayerRnn(Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTTTiTT", "TTTT"));
  RnnAttrs attrs;
  RNN_OPS_RETURN_IF_ERROR(ReadAttrs(*call, &attrs));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("is_training", &attrs.is_training));
  return Forward(call, attrs, Masks::kInputs, LayerRnnOutput::kReserveSpace, /*packed=*/kAbsent);
}

Status LayerRnnPacked(Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTTTib", "TTT"));
  RnnAttrs attrs;
  RNN_OPS_RETURN_IF_ERROR(ReadAttrs(*call, &attrs));
  attrs.is_training = false;
  return Forward(call, attrs, Masks::kNone, /*reserve_space=*/kAbsent,
                 LayerRnnPackedInput::kPacked);
}

Status LayerRnnBackprop(Call* call) {
  using Out = LayerRnnBackpropOutput;
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTTTiTTTTTTTTT", "TTTTTT"));
  RnnAttrs attrs;
  RNN_OPS_RETURN_IF_ERROR(ReadAttrs(*call, &attrs));
  const bool has_c = attrs.mode == RnnMode::kLstm;
  LayerRnnBackpropShapes shapes;
  shapes.in = InputShapes(*call, Masks::kInputs);
  shapes.output = call->shape(In::kOutput);
  shapes.output_h = call->shape(In::kOutputH);
  shapes.output_c = call->shape(In::kOutputC);
  shapes.output_backprop = call->shape(In::kOutputBackprop);
  shapes.output_h_backprop = call->shape(In::kOutputHBackprop);
  shapes.output_c_backprop = call->shape(In::kOutputCBackprop);
  shapes.reserve_space = call->shape(In::kReserveSpace);
  RnnDims dims;
  RNN_OPS_RETURN_IF_ERROR(InferLayerRnnBackprop(attrs, shapes, &dims));
  const struct {
    int index;
    const char* name;
    PartialShape shape;
  } results[] = {
      {Out::kInputBackprop, "input_backprop", shapes.in.input},
      {Out::kInputHBackprop, "input_h_backprop", shapes.in.input_h},
      {Out::kInputCBackprop, "input_c_backprop", has_c ? shapes.in.input_c : PartialShape::Of({})},
      {Out::kKernelBackprop, "kernel_backprop", shapes.in.kernel},
      {Out::kRecurrentKernelBackprop, "recurrent_kernel_backprop", shapes.in.recurrent_kernel},
      {Out::kBiasBackprop, "bias_backprop", shapes.in.bias},
  };
  for (const auto& result : results) {
    RNN_OPS_RETURN_IF_ERROR(call->RequireResult(result.index, result.name, result.shape));
  }
  RnnCall rnn;
  RNN_OPS_RETURN_IF_ERROR(TakeProblem(*call, attrs, dims, &rnn));
  cpu::RnnBackwardArgs args{};
  SetCommon(*call, Masks::kInputs, rnn, &args);
  args.y = call->data(In::kOutput);
  args.dy = call->data(In::kOutputBackprop);
  args.dh_n = call->data(In::kOutputHBackprop);
  args.dx = call->result(Out::kInputBackprop).data;
  args.dh0 = call->result(Out::kInputHBackprop).data;
  args.dkernel = call->result(Out::kKernelBackprop).data;
  args.drecurrent_kernel = call->result(Out::kRecurrentKernelBackprop).data;
  args.dbias = call->result(Out::kBiasBackprop).data;
  if (has_c) {
    args.dc_n = call->data(In::kOutputCBackprop);
    args.dc0 = call->result(Out::kInputCBackprop).data;
  } else {
    call->Zero(Out::kInputCBackprop);
  }
  return RunBackward(call, rnn, In::kReserveSpace, &args);
}

}  // namespace ffi
}  // namespace rnn_ops
