// OpKernels for all ops of the CudnnRNN family and of LayerRNN. They read the attributes and
// prepare each call. A derived class runs the call on a device.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "cc/core/op/dropout.h"
#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/op_call.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {

class RnnForwardKernel : public CheckedOpKernel {
 public:
  RnnForwardKernel(tensorflow::OpKernelConstruction* context, const OpSpec& op);
  void DoCompute(tensorflow::OpKernelContext* context) final;

 protected:
  // Runs the call. Must also allocate and fill the reserve_space of training, and fill
  // call.zeros().
  virtual absl::Status Run(const RnnCall& call, DropoutKey dropout_key) const = 0;

  // Whether every call draws the masks of the first call (TF_CUDNN_RESET_RND_GEN_STATE).
  bool resets_dropout() const { return resets_dropout_; }

 private:
  DropoutKey NextDropoutKey(const RnnCall& call);

  const OpSpec& op_;
  RnnAttrs attrs_;
  LastPlan last_plan_;
  // If the seed is not an input, each training call with dropout uses the next number for its
  // masks, or the number 0 if resets_dropout().
  std::atomic<uint64_t> dropout_calls_{0};
  bool resets_dropout_ = false;
};

class RnnBackpropKernel : public CheckedOpKernel {
 public:
  RnnBackpropKernel(tensorflow::OpKernelConstruction* context, const OpSpec& op);
  void DoCompute(tensorflow::OpKernelContext* context) final;

 protected:
  // Runs the call. Must also check the length of reserve_space, and fill call.zeros().
  virtual absl::Status Run(const RnnCall& call) const = 0;

 private:
  const OpSpec& op_;
  RnnAttrs attrs_;
  LastPlan last_plan_;
};

}  // namespace rnn_ops::tf_kernels
