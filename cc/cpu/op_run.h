// Calls of ops on the kernels of this machine, for any framework: what is left once the framework's
// tensors have become pointers and a validated configuration.
#ifndef TF_RNN_OPS_CC_CPU_OP_RUN_H_
#define TF_RNN_OPS_CC_CPU_OP_RUN_H_

#include <cstdint>

#include "cc/core/network/call_tensors.h"
#include "cc/core/network/dtype.h"
#include "cc/core/network/rnn_config.h"
#include "cc/core/network/shapes.h"
#include "cc/core/status.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops {
namespace cpu {

// What a framework lends to one call.
class Host {
 public:
  virtual ParallelFor parallel() = 0;

  // Memory aligned to 64 bytes that lives as long as the call.
  virtual Status Scratch(int64_t bytes, void** data) = 0;
  // `bytes` of reserve_space, aligned to 64 bytes, for a forward call in training. Bytes that it
  // has beyond them are zero.
  virtual Status NewReserve(int64_t bytes, void** data) = 0;

  virtual PartialShape ShapeOf(Arg input) const = 0;
  // The data of an input, or of a copy where it is not aligned to 64 bytes.
  virtual Status Aligned(Arg input, const void** data) = 0;

 protected:
  ~Host() = default;
};

// Without the lengths, the dropout key and, for CudnnRNN, any tensors.
RnnProblem MakeRnnProblem(const RnnConfig& config, Dtype dtype, const CallTensors& tensors = {});

// Ops of the CudnnRNN family and of LayerRNN. Also a call without any time step: the states pass
// through and every gradient of weights is zero.
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

// Writes the panels of packed weights, RnnNetwork::packed_bytes.
Status RunRnnPack(const RnnProblem& problem, const CallTensors& tensors, void* panels, Host* host);

// The bytes of reserve_space if every row had T steps. XLA, which must know a shape before it knows
// the lengths, always allocates these.
int64_t LongestReserveBytes(const RnnProblem& problem);

}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_OP_RUN_H_
