// CudnnRNNV3, its siblings and their gradient on a GPU.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cc/core/dropout.h"
#include "cc/core/op_io.h"
#include "cc/core/shapes.h"
#include "cc/ffi/cudnn_rnn_inputs.h"
#include "cc/ffi/gpu_ops.h"
#include "cc/gpu/rnn_gpu.h"

namespace rnn_ops {
namespace ffi {
namespace {

using In = CudnnRnnV3Input;

// A problem and the lengths that it refers to.
struct Problem {
  std::vector<int32_t> lengths;
  gpu::RnnProblem gpu;
};

Status TakeProblem(const GpuCall& call, const CudnnRnnInputs& inputs, Problem* problem) {
  const RnnConfig& config = inputs.config;
  std::vector<int32_t> given;
  RNN_OPS_RETURN_IF_ERROR(call.HostValues(In::kSequenceLengths, "sequence_lengths", &given));
  problem->lengths.resize(static_cast<size_t>(config.batch));
  RNN_OPS_RETURN_IF_ERROR(
      TakeSequenceLengths(given.data(), config.batch, config.max_time, problem->lengths.data()));
  problem->gpu.config = config;
  problem->gpu.dtype = call.gpu_dtype();
  problem->gpu.lengths = problem->lengths.data();
  return call.Attr("allow_tf32", &problem->gpu.allow_tf32);
}

// WHY no generator that goes on from call to call: a custom call has no object that could own its
// states. So cuDNN seeds at each call.
Status DrawSeed(const GpuCall& call, const CudnnRnnInputs& inputs, uint64_t* dropout_seed) {
  if (!inputs.draws()) return Status();
  std::vector<int64_t> seed = {inputs.attrs.seed, inputs.attrs.seed2};
  uint64_t number = 0;
  if (inputs.seed != kAbsent) {
    RNN_OPS_RETURN_IF_ERROR(call.HostValues(inputs.seed, "seed", &seed));
  } else {
    RNN_OPS_RETURN_IF_ERROR(NextCall(call, &number));
  }
  const DropoutKey key = MakeDropoutKey(seed[0], seed[1], number);
  *dropout_seed = (uint64_t{key.k1} << 32) | key.k0;
  return Status();
}

// reserve_space, whose size whoever lowered to the handler has chosen.
class ReserveResult : public gpu::DeviceAllocator {
 public:
  explicit ReserveResult(const Buffer* buffer) : buffer_(buffer) {}

  void* Allocate(int64_t bytes) override {
    wanted_ = bytes;
    return bytes <= buffer_->bytes ? buffer_->data : nullptr;
  }

  Status CheckRoom() const {
    if (wanted_ == 0 || wanted_ <= buffer_->bytes) return Status();
    return InvalidArgument("reserve_space must have at least ", wanted_,
                           " bytes on this device, but it has ", buffer_->bytes,
                           ". Its size must be that of RnnReserveBytes().");
  }

 private:
  const Buffer* const buffer_;  // null: nobody will ask
  int64_t wanted_ = 0;
};

Status CheckReserveResult(const GpuCall& call, const CudnnRnnInputs& inputs) {
  const PartialShape& shape = call.result(inputs.reserve_space).shape;
  const size_t rank = inputs.attrs.is_training ? 1 : 0;
  if (shape.dims.size() == rank) return Status();
  return InvalidArgument("reserve_space must be a ", rank == 1 ? "vector" : "scalar",
                         " with is_training=", rank == 1 ? "True" : "False", ", but its shape is ",
                         ToString(shape), ".");
}

Status Forward(GpuCall* call, const CudnnRnnInputs& inputs) {
  using Out = CudnnRnnV3Output;
  const bool training = inputs.attrs.is_training;
  if (inputs.reserve_space != kAbsent) RNN_OPS_RETURN_IF_ERROR(CheckReserveResult(*call, inputs));
  Problem problem;
  RNN_OPS_RETURN_IF_ERROR(TakeProblem(*call, inputs, &problem));
  gpu::RnnForwardArgs args;
  args.problem = problem.gpu;
  RNN_OPS_RETURN_IF_ERROR(DrawSeed(*call, inputs, &args.dropout_seed));
  args.x = call->data(In::kInput);
  args.h0 = call->data(In::kInputH);
  args.c0 = inputs.has_c() ? call->data(In::kInputC) : nullptr;
  args.params = call->data(In::kParams);
  args.y = call->result(Out::kOutput).data;
  args.h_n = call->result(Out::kOutputH).data;
  args.c_n = inputs.has_c() ? call->result(Out::kOutputC).data : nullptr;
  ReserveResult reserve(training ? &call->result(inputs.reserve_space) : nullptr);
  args.reserve = &reserve;
  const Status ran = gpu::RnnForward(args, {call->device(), call->stream(), call->scratch()});
  RNN_OPS_RETURN_IF_ERROR(reserve.CheckRoom());
  RNN_OPS_RETURN_IF_ERROR(ran);
  if (!inputs.has_c()) RNN_OPS_RETURN_IF_ERROR(call->Zero(Out::kOutputC));
  if (inputs.reserve_space == kAbsent) return Status();
  if (!training) RNN_OPS_RETURN_IF_ERROR(call->Zero(inputs.reserve_space));
  return call->Zero(Out::kHostReserved);
}

}  // namespace

Status GpuCudnnRnn(GpuCall* call) {
  CudnnRnnInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeCudnnRnn(call, &inputs));
  return Forward(call, inputs);
}

Status GpuStatelessCudnnRnn(GpuCall* call) {
  CudnnRnnInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeStatelessCudnnRnn(call, &inputs));
  return Forward(call, inputs);
}

// Reads the plain weights: packed ones are the CPU's.
Status GpuCudnnRnnPacked(GpuCall* call) {
  CudnnRnnInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeCudnnRnnPacked(call, &inputs));
  return Forward(call, inputs);
}

Status GpuCudnnRnnBackprop(GpuCall* call) {
  using Back = CudnnRnnBackpropV3Input;
  using Out = CudnnRnnBackpropV3Output;
  CudnnRnnInputs inputs;
  RNN_OPS_RETURN_IF_ERROR(TakeCudnnRnnBackprop(call, &inputs));
  Problem problem;
  RNN_OPS_RETURN_IF_ERROR(TakeProblem(*call, inputs, &problem));
  gpu::RnnBackwardArgs args;
  args.problem = problem.gpu;
  args.x = call->data(Back::kInput);
  args.h0 = call->data(Back::kInputH);
  args.c0 = inputs.has_c() ? call->data(Back::kInputC) : nullptr;
  args.params = call->data(Back::kParams);
  args.y = call->data(Back::kOutput);
  args.dy = call->data(Back::kOutputBackprop);
  args.dh_n = call->data(Back::kOutputHBackprop);
  args.dc_n = inputs.has_c() ? call->data(Back::kOutputCBackprop) : nullptr;
  args.reserve = call->arg(Back::kReserveSpace).data;
  // Without a step nothing is kept, so that there is nothing to check.
  const bool steps = std::count(problem.lengths.begin(), problem.lengths.end(), 0) <
                     static_cast<int64_t>(problem.lengths.size());
  args.reserve_bytes = steps ? call->arg(Back::kReserveSpace).bytes : 0;
  args.keeps_reserve = true;  // XLA may hand it to another call
  args.dx = call->result(Out::kInputBackprop).data;
  args.dh0 = call->result(Out::kInputHBackprop).data;
  args.dc0 = inputs.has_c() ? call->result(Out::kInputCBackprop).data : nullptr;
  args.dparams = call->result(Out::kParamsBackprop).data;
  RNN_OPS_RETURN_IF_ERROR(
      gpu::RnnBackward(args, {call->device(), call->stream(), call->scratch()}));
  return inputs.has_c() ? Status() : call->Zero(Out::kInputCBackprop);
}

}  // namespace ffi
}  // namespace rnn_ops
