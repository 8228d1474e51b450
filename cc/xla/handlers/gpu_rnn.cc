#include <cstdint>
#include <vector>

#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/gpu/call_args.h"
#include "cc/gpu/launch/device_ops.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/xla/handlers/gpu_call.h"
#include "cc/xla/handlers/tensors.h"

namespace rnn_ops::ffi {

// XLA guarantees an alignment of at most 16, and rejects requests for more.
void* GpuCall::Scratch::Allocate(int64_t bytes) {
  constexpr uintptr_t kGranted = 16, kAlignment = 256;
  const auto memory =
      allocator_.Allocate(static_cast<size_t>(bytes) + kAlignment - kGranted, kGranted);
  if (!memory.has_value()) return nullptr;
  const uintptr_t address = reinterpret_cast<uintptr_t>(*memory);
  return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

Status GpuCall::Fill(int index, int8_t value) const {
  const gpu::DeviceOps* ops = nullptr;
  RNN_OPS_RETURN_IF_ERROR(gpu::GetDeviceOps(&ops));
  return ops->Fill(stream_, result(index).data, static_cast<uint8_t>(value), result(index).bytes);
}

Status GpuCall::CopyToHost(int index, void* host) const {
  if (arg(index).bytes == 0) return Status();
  const gpu::DeviceOps* ops = nullptr;
  RNN_OPS_RETURN_IF_ERROR(gpu::GetDeviceOps(&ops));
  return ops->CopyToHost(stream_, host, arg(index).data, arg(index).bytes);
}

// CudnnRNNV3, its variants and their gradient on a GPU.

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

// LayerRNN, LayerRNNPacked and LayerRNN's gradient on a GPU.

namespace {

Status MakeProblem(const OpSpec& op, GpuCall* call, gpu::LayerProblem* problem) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  *problem = gpu::MakeLayerProblem(call->config(), call->dtype(), call->tensors());
  return call->Attr("allow_tf32", &problem->allow_tf32);
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

// BlockLSTMV2 and its gradient on a GPU.

namespace {

Status MakeProblem(const OpSpec& op, GpuCall* call, gpu::BlockLstmProblem* problem) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  std::vector<int64_t> seq_len_max;
  RNN_OPS_RETURN_IF_ERROR(
      call->HostValues(op.Input(Arg::seq_len_max), "seq_len_max", &seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(CheckRunTimeSizes(seq_len_max[0]));
  RNN_OPS_RETURN_IF_ERROR(MakeBlockLstmConfig(call->dims(), seq_len_max[0], problem));
  problem->dtype = call->dtype();
  RNN_OPS_RETURN_IF_ERROR(call->Attr("use_peephole", &problem->use_peephole));
  return call->Attr("allow_tf32", &problem->allow_tf32);
}

}  // namespace

Status GpuBlockLstm(const OpSpec& op, GpuCall* call) {
  gpu::BlockLstmForwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &args.problem));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("cell_clip", &args.problem.cell_clip));
  gpu::SetBlockLstmForward(call->tensors(), &args);
  return gpu::BlockLstmForward(args, call->scratch(), call->stream());
}

Status GpuBlockLstmGrad(const OpSpec& op, GpuCall* call) {
  gpu::BlockLstmBackwardArgs args{};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &args.problem));
  gpu::SetBlockLstmBackward(call->tensors(), &args);
  return gpu::BlockLstmBackward(args, call->scratch(), call->stream());
}

}  // namespace rnn_ops::ffi
