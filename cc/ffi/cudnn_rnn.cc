// CudnnRNNV3, its siblings and their gradient on the CPU.
#include <cstring>

#include "cc/core/dropout.h"
#include "cc/core/op_io.h"
#include "cc/ffi/cudnn_rnn_inputs.h"
#include "cc/ffi/ops.h"
#include "cc/ffi/rnn_call.h"

namespace rnn_ops {
namespace ffi {
namespace {

using In = CudnnRnnV3Input;

Status DrawKey(const Call& call, const CudnnRnnInputs& inputs, uint32_t key[2]) {
  if (!inputs.draws()) return Status();
  DropoutKey drawn;
  if (inputs.seed != kAbsent) {
    int64_t seed[2];
    std::memcpy(seed, call.data(inputs.seed), sizeof(seed));
    drawn = MakeDropoutKey(seed[0], seed[1], /*call=*/0);
  } else {
    uint64_t number = 0;
    RNN_OPS_RETURN_IF_ERROR(NextCall(call, &number));
    drawn = MakeDropoutKey(inputs.attrs.seed, inputs.attrs.seed2, number);
  }
  key[0] = drawn.k0;
  key[1] = drawn.k1;
  return Status();
}

Status Forward(Call* call, const CudnnRnnInputs& inputs) {
  using Out = CudnnRnnV3Output;
  RnnCall rnn;
  rnn.config = inputs.config;
  RNN_OPS_RETURN_IF_ERROR(rnn.TakeLengths(*call, In::kSequenceLengths));

  cpu::RnnForwardArgs args{};
  args.problem = rnn.MakeProblem(*call);
  RNN_OPS_RETURN_IF_ERROR(DrawKey(*call, inputs, args.problem.dropout_key));
  args.x = call->data(In::kInput);
  args.h0 = call->data(In::kInputH);
  args.params = call->data(In::kParams);
  args.y = call->result(Out::kOutput).data;
  args.h_n = call->result(Out::kOutputH).data;
  if (inputs.has_c()) {
    args.c0 = call->data(In::kInputC);
    args.c_n = call->result(Out::kOutputC).data;
  } else {
    call->Zero(Out::kOutputC);
  }
  return RunForward(call, rnn, inputs.reserve_space, inputs.packed, &args);
}

}  // namespace

Status CudnnRnn(Call* call) {
  CudnnRnnInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeCudnnRnn(call, &inputs));
  call->Zero(CudnnRnnV3Output::kHostReserved);
  return Forward(call, inputs);
}

Status StatelessCudnnRnn(Call* call) {
  CudnnRnnInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeStatelessCudnnRnn(call, &inputs));
  call->Zero(CudnnRnnV3Output::kHostReserved);
  return Forward(call, inputs);
}

Status CudnnRnnPacked(Call* call) {
  CudnnRnnInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeCudnnRnnPacked(call, &inputs));
  return Forward(call, inputs);
}

Status CudnnRnnBackprop(Call* call) {
  using Back = CudnnRnnBackpropV3Input;
  using Out = CudnnRnnBackpropV3Output;
  CudnnRnnInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeCudnnRnnBackprop(call, &inputs));
  RnnCall rnn;
  rnn.config = inputs.config;
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
  if (inputs.has_c()) {
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
