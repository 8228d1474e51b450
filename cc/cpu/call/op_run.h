// Runs an op on a CPU, for every framework: from the tensors of a call to the kernels of the table.
// The framework's adapter has validated the call.
#pragma once

#include <cstdint>

#include "cc/core/op/call_tensors.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu {

// The result is valid as long as the team.
inline ParallelFor ParallelForOf(Team* team) {
  return {team,
          {team->num_threads(), WakeNs(team->warm()), kMeetNs},
          [](void* context, int64_t n, int64_t worth_threads, void (*fn)(void* arg, int64_t i),
             void* arg) { static_cast<Team*>(context)->For(n, worth_threads, fn, arg); }};
}

// The services of a framework for one call.
class Host {
 public:
  virtual ParallelFor parallel() = 0;

  // Memory aligned to 64 bytes that lives until the end of the call.
  virtual Status Scratch(int64_t bytes, void** data) = 0;
  // sizes.bytes bytes of reserve_space, aligned to 64 bytes, for a forward call in training. Any
  // further bytes of reserve_space are zero.
  virtual Status NewReserve(const ReserveSizes& sizes, void** data) = 0;

  virtual PartialShape ShapeOf(Arg input) const = 0;
  // The data of an input, or of a copy if the input is not aligned to 64 bytes.
  virtual Status Aligned(Arg input, const void** data) = 0;

 protected:
  ~Host() = default;
};

// The problem without lengths and dropout key. CudnnRNN ops pass no `tensors`.
RnnProblem MakeRnnProblem(const RnnConfig& config, Dtype dtype, const CallTensors& tensors = {});

// Ops of the CudnnRNN family and of LayerRNN. Calls without any time step are valid: the states
// pass through unchanged, and all gradients of weights are zero.
Status RunRnnForward(const RnnProblem& problem, const CallTensors& tensors, Host* host);
Status RunRnnBackward(const RnnProblem& problem, const CallTensors& tensors, Host* host);

// BlockLSTMV2 and its gradient.
Status RunBlockLstmForward(const BlockLstmProblem& problem, const CallTensors& tensors, Host* host);
Status RunBlockLstmBackward(const BlockLstmProblem& problem, const CallTensors& tensors,
                            Host* host);

Status RunLinearRecurrence(const LinearRecurrenceProblem& problem, const CallTensors& tensors,
                           Host* host);
LinearRecurrenceProblem MakeLinearRecurrenceProblem(RnnMode mode, const RnnDims& dims, Dtype dtype,
                                                    bool transposed, const CallTensors& tensors);

// Writes the panels of packed weights. Size of `panels`: PackedFormat::bytes.
Status RunRnnPack(const RnnProblem& problem, const CallTensors& tensors, void* panels, Host* host);

// The bytes of reserve_space if every sequence has T steps, before a call. XLA always allocates
// this size, because it must know a shape before it knows the lengths.
int64_t LongestReserveBytes(const RnnProblem& problem);

}  // namespace rnn_ops::cpu
