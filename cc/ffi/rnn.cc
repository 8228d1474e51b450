// The CudnnRNN family and LayerRNN on the CPU.
#include <cstdint>
#include <cstring>
#include <vector>

#include "cc/core/rnn_config.h"
#include "cc/core/shapes.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/packed_header.h"
#include "cc/cpu/rnn_run.h"
#include "cc/ffi/dropout.h"
#include "cc/ffi/ops.h"

namespace rnn_ops {
namespace ffi {
namespace {

// A validated problem and the lengths that it refers to.
struct Problem {
  RnnConfig config;
  std::vector<int32_t> lengths;  // [B]

  // After call.Take().
  Status Take(const Call& call) {
    RNN_OPS_RETURN_IF_ERROR(MakeRnnConfig(call.attrs(), call.dims(), &config));
    lengths.resize(config.batch);
    const auto* given = static_cast<const int32_t*>(call.tensors().in("sequence_lengths"));
    if (given != nullptr && config.batch > 0) RNN_OPS_RETURN_IF_ERROR(CheckRunTimeSizes(given[0]));
    return TakeSequenceLengths(given, config.batch, config.max_time, lengths.data());
  }
};

Status TakeKey(const Call& call, DropoutKey* key) {
  const void* given = call.tensors().in("seed");
  const bool zones_out = call.attrs().has_zoneout() && given != nullptr;
  if (!HasDropout(call.attrs()) && !zones_out) return Status();
  int64_t seed[2];
  if (given != nullptr) std::memcpy(seed, given, sizeof(seed));
  return DrawDropoutKey(call, given == nullptr ? nullptr : seed, key);
}

// Packed weights, where the op has them and they are for these kernels.
Status TakePacked(Call* call, cpu::RnnForwardArgs* args) {
  const int index = call->op().Input("packed");
  if (index == kAbsent) return Status();
  const Buffer& packed = call->arg(index);
  bool usable = false;
  RNN_OPS_RETURN_IF_ERROR(cpu::TakePacked(args->problem, packed.shape, packed.data, &usable));
  if (!usable) return Status();
  RNN_OPS_RETURN_IF_ERROR(call->Aligned(index, &args->packed));
  args->packed = static_cast<const char*>(args->packed) + cpu::kPackedHeaderBytes;
  args->problem.weights_packed = true;
  return Status();
}

}  // namespace

Status RnnForward(const OpSpec& op, Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Take(op));
  Problem problem;
  RNN_OPS_RETURN_IF_ERROR(problem.Take(*call));
  DropoutKey key;
  RNN_OPS_RETURN_IF_ERROR(TakeKey(*call, &key));
  cpu::RnnForwardArgs args = cpu::MakeForwardArgs(problem.config, call->dtype(),
                                                  problem.lengths.data(), call->tensors(), key);
  args.parallel = call->parallel();
  RNN_OPS_RETURN_IF_ERROR(TakePacked(call, &args));
  const cpu::RnnSizes sizes = cpu::RnnForwardSizes(args);
  if (sizes.reserve_bytes < 0) {
    return InvalidArgument("reserve_space would need more than 2^62 bytes.");
  }
  RNN_OPS_RETURN_IF_ERROR(call->Scratch(sizes.scratch_bytes, &args.scratch));

  void* const reserve = call->tensors().out("reserve_space");
  const bool training = problem.config.is_training;
  bool copied = false;
  int64_t bytes = 0;
  if (training) {
    // Its size is that for sequences of T steps.
    const int64_t elements =
        ReserveElements(cpu::LargestReserveBytes(args.problem), SizeOf(args.problem.dtype));
    bytes = elements * SizeOf(args.problem.dtype);
    RNN_OPS_RETURN_IF_ERROR(call->RequireResult(op.Output("reserve_space"), "reserve_space",
                                                PartialShape::Of({elements})));
    args.reserve = reserve;
    copied = reinterpret_cast<uintptr_t>(reserve) % 64 != 0;
    if (copied) RNN_OPS_RETURN_IF_ERROR(call->Scratch(sizes.reserve_bytes, &args.reserve));
  }
  for (const int k : call->zeros()) call->Zero(k);
  RNN_OPS_RETURN_IF_ERROR(cpu::RunRnnForward(args));
  if (copied && args.reserve != nullptr) std::memcpy(reserve, args.reserve, sizes.reserve_bytes);
  // Otherwise old memory would show in the part that shorter sequences leave over.
  if (training)
    std::memset(static_cast<char*>(reserve) + sizes.reserve_bytes, 0, bytes - sizes.reserve_bytes);
  return Status();
}

Status RnnBackprop(const OpSpec& op, Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Take(op));
  Problem problem;
  RNN_OPS_RETURN_IF_ERROR(problem.Take(*call));
  cpu::RnnBackwardArgs args =
      cpu::MakeBackwardArgs(problem.config, call->dtype(), problem.lengths.data(), call->tensors());
  args.parallel = call->parallel();
  const cpu::RnnSizes sizes = cpu::RnnBackwardSizes(args);
  const int reserve_space = op.Input("reserve_space");
  RNN_OPS_RETURN_IF_ERROR(
      cpu::CheckReserveSpace(args.problem, sizes.reserve_bytes, call->arg(reserve_space).shape));
  RNN_OPS_RETURN_IF_ERROR(call->Aligned(reserve_space, &args.reserve));
  RNN_OPS_RETURN_IF_ERROR(call->Scratch(sizes.scratch_bytes, &args.scratch));
  for (const int k : call->zeros()) call->Zero(k);
  return cpu::RunRnnBackward(args);
}

}  // namespace ffi
}  // namespace rnn_ops
