// Calls of the kernels of this machine for any framework: what is left once the framework's tensors
// have become pointers and a validated configuration.
#ifndef TF_RNN_OPS_CC_CPU_RNN_RUN_H_
#define TF_RNN_OPS_CC_CPU_RNN_RUN_H_

#include <cstdint>

#include "cc/core/call_tensors.h"
#include "cc/core/dropout.h"
#include "cc/core/dtype.h"
#include "cc/core/rnn_config.h"
#include "cc/core/shapes.h"
#include "cc/core/status.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops {
namespace cpu {

// ---- The CudnnRNN family and LayerRNN ----

// Without the lengths, the dropout key and what concerns the weights.
RnnProblem MakeRnnProblem(const RnnConfig& config, Dtype dtype);

// The arguments of a call but for threads, scratch, reserve and packed. `lengths`: [B]. Unless it
// is given, the dropout key is 0.
RnnForwardArgs MakeForwardArgs(const RnnConfig& config, Dtype dtype, const int32_t* lengths,
                               const CallTensors& tensors, DropoutKey key = {});
RnnBackwardArgs MakeBackwardArgs(const RnnConfig& config, Dtype dtype, const int32_t* lengths,
                                 const CallTensors& tensors);
RnnPackArgs MakePackArgs(const RnnConfig& config, Dtype dtype, const CallTensors& tensors);

// As the functions of KernelTable, but also for a call without any time step: the states pass
// through and every gradient of weights is zero. Of `args` the problem and the threads matter.
RnnSizes RnnForwardSizes(const RnnForwardArgs& args);
RnnSizes RnnBackwardSizes(const RnnBackwardArgs& args);

// Every pointer of `args` is set.
Status RunRnnForward(const RnnForwardArgs& args);
Status RunRnnBackward(const RnnBackwardArgs& args);

// The bytes of reserve_space if every row had T steps. XLA, which must know a shape before it knows
// the lengths, always allocates these.
int64_t LargestReserveBytes(const RnnProblem& problem);

// InvalidArgument unless reserve_space is a vector of the elements that the forward op allocates
// for this problem, in or out of XLA. `reserve_bytes`: what RnnBackwardSizes says.
Status CheckReserveSpace(const RnnProblem& problem, int64_t reserve_bytes,
                         const PartialShape& shape);

// Whether `packed`, a vector of bytes, has panels for these kernels; otherwise the plain
// weights are to be read. InvalidArgument for the packed weights of another network.
Status TakePacked(const RnnProblem& problem, const PartialShape& shape, const void* packed,
                  bool* usable);

// ---- BlockLSTMV2 ----

// ---- LinearRecurrence ----

// The arguments of a call but for threads and scratch.
LinearRecurrenceArgs MakeLinearRecurrenceArgs(RnnMode mode, const RnnDims& dims, Dtype dtype,
                                              bool transposed, const CallTensors& tensors);

// ---- Any kernel ----

// What a function of KernelTable returned.
Status FromKernel(int32_t code);

}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_RNN_RUN_H_
