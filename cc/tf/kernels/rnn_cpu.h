// The CudnnRNN family and LayerRNN on the CPU.
#pragma once

#include "absl/status/status.h"
#include "cc/core/op/dropout.h"
#include "cc/core/op/rnn_config.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/kernels/rnn_kernels.h"

namespace rnn_ops::tf_kernels {

class RnnForwardCpuKernel : public RnnForwardKernel {
 public:
  using RnnForwardKernel::RnnForwardKernel;

 protected:
  absl::Status Run(const RnnCall& call, DropoutKey dropout_key) const override;
};

class RnnBackpropCpuKernel : public RnnBackpropKernel {
 public:
  using RnnBackpropKernel::RnnBackpropKernel;

 protected:
  absl::Status Run(const RnnCall& call) const override;
};

// Sets output 0 of an op that packs weights to a vector that forward calls accept as `packed`. If
// `keep` is true, the result is kept for the next call (Note [Kept weights]). Call it after
// call.BindInputs(); T and B of `config` must be 0.
absl::Status PackRnnWeightsOnCpu(const OpCall& call, const RnnConfig& config, bool keep);

}  // namespace rnn_ops::tf_kernels
