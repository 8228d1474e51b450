#include "cc/ffi/rnn_call.h"

#include <cstring>

#include "cc/core/shapes.h"
#include "cc/cpu/packed_header.h"
#include "cc/cpu/rnn_run.h"

namespace rnn_ops {
namespace ffi {

Status RnnCall::TakeLengths(const Call& call, int lengths_arg) {
  const void* given = lengths_arg == kAbsent ? nullptr : call.data(lengths_arg);
  lengths.resize(config.batch);
  return TakeSequenceLengths(static_cast<const int32_t*>(given), config.batch, config.max_time,
                             lengths.data());
}

cpu::RnnProblem RnnCall::MakeProblem(const Call& call) const {
  cpu::RnnProblem problem = cpu::MakeRnnProblem(config, call.dtype());
  problem.lengths = lengths.data();
  return problem;
}

Status RunForward(Call* call, const RnnCall& rnn, int reserve_space, int packed,
                  cpu::RnnForwardArgs* args) {
  args->parallel = call->parallel();
  if (packed != kAbsent) {
    bool usable = false;
    RNN_OPS_RETURN_IF_ERROR(
        cpu::TakePacked(args->problem, call->shape(packed), call->data(packed), &usable));
    if (usable) {
      RNN_OPS_RETURN_IF_ERROR(call->Aligned(packed, &args->packed));
      args->packed = static_cast<const char*>(args->packed) + cpu::kPackedHeaderBytes;
      args->problem.weights_packed = 1;
    }
  }
  const cpu::RnnSizes sizes = cpu::RnnForwardSizes(*args);
  if (sizes.reserve_bytes < 0) {
    return InvalidArgument("reserve_space would need more than 2^62 bytes.");
  }
  RNN_OPS_RETURN_IF_ERROR(call->Scratch(sizes.scratch_bytes, &args->scratch));

  void* reserve_copy = nullptr;
  if (rnn.config.is_training) {
    // Its size is that for rows of T steps: what shorter rows leave over stays as it is.
    const int64_t elements = ReserveElements(cpu::LargestReserveBytes(args->problem),
                                             cpu::ElementBytes(args->problem.dtype));
    RNN_OPS_RETURN_IF_ERROR(
        call->RequireResult(reserve_space, "reserve_space", PartialShape::Of({elements})));
    args->reserve = call->result(reserve_space).data;
    if (reinterpret_cast<uintptr_t>(args->reserve) % 64 != 0) {
      RNN_OPS_RETURN_IF_ERROR(call->Scratch(sizes.reserve_bytes, &reserve_copy));
      args->reserve = reserve_copy;
    }
  } else if (reserve_space != kAbsent) {
    RNN_OPS_RETURN_IF_ERROR(
        call->RequireResult(reserve_space, "reserve_space", PartialShape::Of({})));
    call->Zero(reserve_space);
  }
  RNN_OPS_RETURN_IF_ERROR(cpu::RunRnnForward(rnn.config, *args));
  if (reserve_copy != nullptr) {
    std::memcpy(call->result(reserve_space).data, reserve_copy, sizes.reserve_bytes);
  }
  return Status();
}

Status RunBackward(Call* call, const RnnCall& rnn, int reserve_space, cpu::RnnBackwardArgs* args) {
  args->parallel = call->parallel();
  const cpu::RnnSizes sizes = cpu::RnnBackwardSizes(*args);
  RNN_OPS_RETURN_IF_ERROR(
      cpu::CheckReserveSpace(args->problem, sizes.reserve_bytes, call->shape(reserve_space)));
  RNN_OPS_RETURN_IF_ERROR(call->Aligned(reserve_space, &args->reserve));
  RNN_OPS_RETURN_IF_ERROR(call->Scratch(sizes.scratch_bytes, &args->scratch));
  return cpu::RunRnnBackward(rnn.config, *args);
}

}  // namespace ffi
}  // namespace rnn_ops
