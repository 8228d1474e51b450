// CudnnRNNV3, its siblings and their gradient.
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "cc/core/dropout.h"
#include "cc/core/op_io.h"
#include "cc/core/shapes.h"
#include "cc/ffi/ops.h"
#include "cc/ffi/rnn_call.h"

namespace rnn_ops {
namespace ffi {
namespace {

using In = CudnnRnnV3Input;

RnnInputShapes InputShapes(const Call& call) {
  RnnInputShapes shapes;
  shapes.input = call.shape(In::kInput);
  shapes.input_h = call.shape(In::kInputH);
  shapes.input_c = call.shape(In::kInputC);
  shapes.params = call.shape(In::kParams);
  shapes.sequence_lengths = call.shape(In::kSequenceLengths);
  return shapes;
}

// The attributes that all three ops have.
Status ReadNetwork(const Call& call, RnnAttrs* attrs) {
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

// The number of this call among those of its call site. WHY a count here: a custom call has no
// object that lives from execution to execution.
uint64_t NextCall(int64_t call_site) {
  static std::mutex mutex;
  static auto* const counts = new std::unordered_map<int64_t, uint64_t>;
  const std::lock_guard<std::mutex> lock(mutex);
  return (*counts)[call_site]++;
}

// Which of its tensors an op has.
struct Signature {
  int seed = kAbsent;           // argument; without it the attributes seed and seed2
  int packed = kAbsent;         // argument
  int reserve_space = kAbsent;  // result
};

Status DrawKey(const Call& call, const RnnAttrs& attrs, int seed_arg, uint32_t key[2]) {
  if (!attrs.is_training || attrs.dropout <= 0) return Status();
  DropoutKey drawn;
  if (seed_arg != kAbsent) {
    int64_t seed[2];
    std::memcpy(seed, call.data(seed_arg), sizeof(seed));
    drawn = MakeDropoutKey(seed[0], seed[1], /*call=*/0);
  } else {
    int64_t call_site = 0;
    RNN_OPS_RETURN_IF_ERROR(call.Attr("call_site", &call_site));
    drawn = MakeDropoutKey(attrs.seed, attrs.seed2, NextCall(call_site));
  }
  key[0] = drawn.k0;
  key[1] = drawn.k1;
  return Status();
}

Status Forward(Call* call, const RnnAttrs& attrs, const Signature& signature) {
  using Out = CudnnRnnV3Output;
  RNN_OPS_RETURN_IF_ERROR(attrs.Validate());
  RnnCall rnn;
  RnnDims dims;
  RnnInputShapes shapes = InputShapes(*call);
  if (signature.seed != kAbsent) shapes.seed = call->shape(signature.seed);
  RNN_OPS_RETURN_IF_ERROR(InferRnn(attrs, shapes, &dims));
  RNN_OPS_RETURN_IF_ERROR(MakeRnnConfig(attrs, shapes, &rnn.config));
  RNN_OPS_RETURN_IF_ERROR(call->RequireResult(Out::kOutput, "output", RnnOutputShape(attrs, dims)));
  RNN_OPS_RETURN_IF_ERROR(
      call->RequireResult(Out::kOutputH, "output_h", RnnOutputHShape(attrs, dims)));
  RNN_OPS_RETURN_IF_ERROR(
      call->RequireResult(Out::kOutputC, "output_c", RnnOutputCShape(attrs, dims)));
  RNN_OPS_RETURN_IF_ERROR(rnn.TakeLengths(*call, In::kSequenceLengths));

  cpu::RnnForwardArgs args{};
  args.problem = rnn.MakeProblem(*call);
  RNN_OPS_RETURN_IF_ERROR(DrawKey(*call, attrs, signature.seed, args.problem.dropout_key));
  args.x = call->data(In::kInput);
  args.h0 = call->data(In::kInputH);
  args.params = call->data(In::kParams);
  args.y = call->result(Out::kOutput).data;
  args.h_n = call->result(Out::kOutputH).data;
  if (attrs.mode == RnnMode::kLstm) {
    args.c0 = call->data(In::kInputC);
    args.c_n = call->result(Out::kOutputC).data;
  } else {
    call->Zero(Out::kOutputC);
  }
  return RunForward(call, rnn, signature.reserve_space, signature.packed, &args);
}

}  // namespace

Status CudnnRnn(Call* call) {
  using Out = CudnnRnnV3Output;
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTi", "TTTTc"));
  RnnAttrs attrs;
  RNN_OPS_RETURN_IF_ERROR(ReadNetwork(*call, &attrs));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("dropout", &attrs.dropout));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("seed", &attrs.seed));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("seed2", &attrs.seed2));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("is_training", &attrs.is_training));
  call->Zero(Out::kHostReserved);
  Signature signature;
  signature.reserve_space = Out::kReserveSpace;
  return Forward(call, attrs, signature);
}

Status StatelessCudnnRnn(Call* call) {
  using Out = CudnnRnnV3Output;
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTil", "TTTTc"));
  RnnAttrs attrs;
  RNN_OPS_RETURN_IF_ERROR(ReadNetwork(*call, &attrs));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("dropout", &attrs.dropout));
  call->Zero(Out::kHostReserved);
  Signature signature;
  signature.seed = StatelessCudnnRnnV3Input::kSeed;
  signature.reserve_space = Out::kReserveSpace;
  return Forward(call, attrs, signature);
}

Status CudnnRnnPacked(Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTib", "TTT"));
  RnnAttrs attrs;
  RNN_OPS_RETURN_IF_ERROR(ReadNetwork(*call, &attrs));
  attrs.is_training = false;
  Signature signature;
  signature.packed = CudnnRnnV3PackedInput::kPacked;
  return Forward(call, attrs, signature);
}

Status CudnnRnnBackprop(Call* call) {
  using Back = CudnnRnnBackpropV3Input;
  using Out = CudnnRnnBackpropV3Output;
  RNN_OPS_RETURN_IF_ERROR(call->Take("TTTTiTTTTTTTc", "TTTT"));
  RnnAttrs attrs;
  RNN_OPS_RETURN_IF_ERROR(ReadNetwork(*call, &attrs));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("dropout", &attrs.dropout));
  RNN_OPS_RETURN_IF_ERROR(attrs.Validate());
  const bool has_c = attrs.mode == RnnMode::kLstm;
  RnnBackpropShapes shapes;
  shapes.in = InputShapes(*call);
  shapes.output = call->shape(Back::kOutput);
  shapes.output_h = call->shape(Back::kOutputH);
  shapes.output_c = call->shape(Back::kOutputC);
  shapes.output_backprop = call->shape(Back::kOutputBackprop);
  shapes.output_h_backprop = call->shape(Back::kOutputHBackprop);
  shapes.output_c_backprop = call->shape(Back::kOutputCBackprop);
  shapes.reserve_space = call->shape(Back::kReserveSpace);
  RnnCall rnn;
  RNN_OPS_RETURN_IF_ERROR(MakeRnnConfig(attrs, shapes, &rnn.config));
  RNN_OPS_RETURN_IF_ERROR(
      call->RequireResult(Out::kInputBackprop, "input_backprop", shapes.in.input));
  RNN_OPS_RETURN_IF_ERROR(
      call->RequireResult(Out::kInputHBackprop, "input_h_backprop", shapes.in.input_h));
  RNN_OPS_RETURN_IF_ERROR(call->RequireResult(Out::kInputCBackprop, "input_c_backprop",
                                              has_c ? shapes.in.input_c : PartialShape::Of({})));
  RNN_OPS_RETURN_IF_ERROR(
      call->RequireResult(Out::kParamsBackprop, "params_backprop", shapes.in.params));
  RNN_OPS_RETURN_IF_ERROR(rnn.TakeLengths(*call, Back::kSequenceLengths));

  cpu::RnnBackwardArgs args{};
  args.problem = rnn.MakeProblem(*call);
  args.x = call->data(Back::kInput);
  args.h0 = call->data(Back::kInputH);
  args.params = call->data(Back::kParams);
  args.y = call->data(Back::kOutput);
  args.dy = call->data(Back::kOutputBackprop);
  args.dh_n = call->data(Back::kOutputHBackprop);
  args.dx = call->result(Out::kInputBackprop).data;
  args.dh0 = call->result(Out::kInputHBackprop).data;
  args.dparams = call->result(Out::kParamsBackprop).data;
  if (has_c) {
    args.c0 = call->data(Back::kInputC);
    args.dc_n = call->data(Back::kOutputCBackprop);
    args.dc0 = call->result(Out::kInputCBackprop).data;
  } else {
    call->Zero(Out::kInputCBackprop);
  }
  return RunBackward(call, rnn, Back::kReserveSpace, &args);
}

}  // namespace ffi
}  // namespace rnn_ops
