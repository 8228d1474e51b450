// The OpKernels of the CudnnRNN family and of LayerRNN, for any op of them: they read the
// attributes and prepare each call. A device derives from them and runs the call.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_RNN_KERNELS_H_
#define TF_RNN_OPS_CC_TF_KERNELS_RNN_KERNELS_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "cc/core/network/dropout.h"
#include "cc/core/network/op_spec.h"
#include "cc/core/network/rnn_config.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/op_call.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {

class RnnForwardKernel : public CheckedOpKernel {
 public:
  RnnForwardKernel(tensorflow::OpKernelConstruction* context, const OpSpec& op);
  void DoCompute(tensorflow::OpKernelContext* context) final;

 protected:
  // Also allocates and fills the reserve_space of training, and fills call.zeros().
  virtual absl::Status Run(const RnnCall& call, DropoutKey dropout_key) const = 0;

 private:
  DropoutKey NextDropoutKey(const RnnCall& call);

  const OpSpec& op_;
  RnnAttrs attrs_;
  LastPlan last_plan_;
  // Without a seed among the inputs, each training call with dropout takes the next
  // number for its mask, or the number 0 if the environment says so.
  std::atomic<uint64_t> dropout_calls_{0};
  bool resets_dropout_ = false;
};

class RnnBackpropKernel : public CheckedOpKernel {
 public:
  RnnBackpropKernel(tensorflow::OpKernelConstruction* context, const OpSpec& op);
  void DoCompute(tensorflow::OpKernelContext* context) final;

 protected:
  // Also checks the length of reserve_space, and fills call.zeros().
  virtual absl::Status Run(const RnnCall& call) const = 0;

 private:
  const OpSpec& op_;
  RnnAttrs attrs_;
  LastPlan last_plan_;
};

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_RNN_KERNELS_H_
