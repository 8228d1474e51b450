// CudnnRNNV3, its variants and their gradient on a GPU.
#include <cstdint>
#include <vector>

#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/gpu/call_args.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/xla/handlers/dropout.h"
#include "cc/xla/handlers/gpu_ops.h"

namespace rnn_ops::ffi {
namespace {

// A problem, and the lengths that it refers to.
struct Problem {
  std::vector<int32_t> lengths;
  gpu::StackProblem gpu;

  // Call it after call.Bind().
  Status Read(const GpuCall& call) {
    RnnConfig& config = gpu;
    config = call.config();
    std::vector<int32_t> given;
    RNN_OPS_RETURN_IF_ERROR(
        call.HostValues(call.op().Input(Arg::sequence_lengths), "sequence_lengths", &given));
    if (!given.empty()) RNN_OPS_RETURN_IF_ERROR(CheckRunTimeSizes(given[0]));
    lengths.resize(static_cast<size_t>(config.batch));
    int64_t sum = 0;
    RNN_OPS_RETURN_IF_ERROR(
        CopySequenceLengths(given.data(), config.batch, config.max_time, lengths.data(), &sum));
    gpu.dtype = call.dtype();
    gpu.lengths = lengths.data();
    return call.Attr("allow_tf32", &gpu.allow_tf32);
  }
};

// WHY no generator that continues from call to call: a custom call has no object that could own the
// states. So cuDNN seeds a generator at each call.
Status DrawSeed(const GpuCall& call, uint64_t* dropout_seed) {
  if (!HasDropout(call.attrs())) return Status();
  std::vector<int64_t> seed;
  const int index = call.op().Input(Arg::seed);
  if (index != kAbsent) RNN_OPS_RETURN_IF_ERROR(call.HostValues(index, "seed", &seed));
  DropoutKey key;
  RNN_OPS_RETURN_IF_ERROR(DrawDropoutKey(call, index == kAbsent ? nullptr : seed.data(), &key));
  *dropout_seed = (uint64_t{key.k1} << 32) | key.k0;
  return Status();
}

Status ZeroResults(const GpuCall& call) {
  for (const int k : call.zeros()) RNN_OPS_RETURN_IF_ERROR(call.Fill(k, 0));
  return Status();
}

// Memory of the result reserve_space. The program that lowered the op to the handler chose its
// size.
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
                           ". The program was compiled for another GPU or another "
                           "TF_RNN_OPS_GPU_ALGO. Compile it again.");
  }

 private:
  const Buffer* const buffer_;  // null if no memory is requested
  int64_t wanted_ = 0;
};

}  // namespace

Status GpuRnnForward(const OpSpec& op, GpuCall* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  Problem problem;
  RNN_OPS_RETURN_IF_ERROR(problem.Read(*call));
  gpu::RnnForwardArgs args;
  args.problem = problem.gpu;
  RNN_OPS_RETURN_IF_ERROR(DrawSeed(*call, &args.dropout_seed));
  gpu::SetForward(call->tensors(), &args);
  const bool training = call->attrs().is_training;
  ReserveResult reserve(training ? &call->result(op.Output(Arg::reserve_space)) : nullptr);
  int8_t algorithm = 0;
  args.reserve = &reserve;
  args.algorithm = &algorithm;
  const Status ran = gpu::RnnForward(args, {call->device(), call->stream(), call->scratch()});
  RNN_OPS_RETURN_IF_ERROR(reserve.CheckRoom());
  RNN_OPS_RETURN_IF_ERROR(ran);
  RNN_OPS_RETURN_IF_ERROR(ZeroResults(*call));
  if (!training) return Status();
  algorithm = static_cast<int8_t>(algorithm | gpu::kReserveOfProgram);
  return call->Fill(op.Output(Arg::host_reserved), algorithm);
}

Status GpuRnnBackprop(const OpSpec& op, GpuCall* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  Problem problem;
  RNN_OPS_RETURN_IF_ERROR(problem.Read(*call));
  gpu::RnnBackwardArgs args;
  args.problem = problem.gpu;
  gpu::SetBackward(call->tensors(), &args);
  const Buffer& reserve_space = call->arg(Arg::reserve_space);
  args.reserve = reserve_space.data;
  args.reserve_bytes = reserve_space.bytes;
  std::vector<int8_t> algorithm;
  RNN_OPS_RETURN_IF_ERROR(
      call->HostValues(op.Input(Arg::host_reserved), "host_reserved", &algorithm));
  args.algorithm = algorithm.size() == 1 ? algorithm[0] : 0;
  args.keeps_reserve = true;  // XLA may pass it to another call
  RNN_OPS_RETURN_IF_ERROR(
      gpu::RnnBackward(args, {call->device(), call->stream(), call->scratch()}));
  return ZeroResults(*call);
}

}  // namespace rnn_ops::ffi
