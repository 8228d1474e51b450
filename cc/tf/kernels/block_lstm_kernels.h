// The OpKernel of BlockLSTMV2 and of its gradient. It reads the attributes and prepares each call.
// A derived class runs the call on a device.
#pragma once

#include "absl/status/status.h"
#include "cc/core/op/op_spec.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/op_call.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {

class BlockLstmKernel : public CheckedOpKernel {
 public:
  BlockLstmKernel(tensorflow::OpKernelConstruction* context, const OpSpec& op)
      : CheckedOpKernel(context), op_(op) {
    OP_REQUIRES_OK(context, context->GetAttr("use_peephole", &config_.use_peephole));
    const bool is_gradient = op.gradients.count > 0;
    if (is_gradient) return;
    OP_REQUIRES_OK(context, context->GetAttr("cell_clip", &config_.cell_clip));
  }

  void DoCompute(tensorflow::OpKernelContext* context) final {
    const RnnAttrs attrs;  // the op has none of these attributes
    BlockLstmCall call(op_, attrs, context, &last_plan_);
    call.config = config_;
    OP_REQUIRES_OK(context, call.Prepare());
    OP_REQUIRES_OK(context, Run(call));
  }

 protected:
  // Fills every output, even if the call is empty.
  virtual absl::Status Run(const BlockLstmCall& call) const = 0;

 private:
  const OpSpec& op_;
  BlockLstmConfig config_;  // without sizes
  LastPlan last_plan_;
};

}  // namespace rnn_ops::tf_kernels
