// Runs a prepared call of the CudnnRNN family on the CPU.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_RNN_CPU_H_
#define TF_RNN_OPS_CC_TF_KERNELS_RNN_CPU_H_

#include <cstdint>

#include "absl/status/status.h"
#include "cc/core/dropout.h"
#include "cc/tf/kernels/rnn_call.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {

// Also allocates and fills reserve_space, where the op has one.
absl::Status RunRnnForwardOnCpu(tensorflow::OpKernelContext* context, const RnnForwardCall& call,
                                DropoutKey dropout_key);

// Sets output 0: what `packed` of a forward call is. Of the call's inputs only weights are read.
absl::Status PackRnnWeightsOnCpu(tensorflow::OpKernelContext* context, const RnnPackCall& call);

absl::Status RunRnnBackpropOnCpu(tensorflow::OpKernelContext* context, const RnnBackpropCall& call);

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_RNN_CPU_H_
