// The OpKernels of BlockLSTMV2 and its gradient; a device derives from them.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_BLOCK_LSTM_KERNELS_H_
#define TF_RNN_OPS_CC_TF_KERNELS_BLOCK_LSTM_KERNELS_H_

#include "absl/status/status.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/block_lstm_call.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {

class BlockLstmKernel : public CheckedOpKernel {
 public:
  explicit BlockLstmKernel(tensorflow::OpKernelConstruction* context) : CheckedOpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("cell_clip", &cell_clip_));
    OP_REQUIRES_OK(context, context->GetAttr("use_peephole", &use_peephole_));
  }

  void DoCompute(tensorflow::OpKernelContext* context) final {
    BlockLstmForwardCall call;
    call.cell_clip = cell_clip_;
    call.use_peephole = use_peephole_;
    OP_REQUIRES_OK(context, call.Prepare(context));
    OP_REQUIRES_OK(context, Run(context, call));
  }

 protected:
  // Fills every output, also of an empty call.
  virtual absl::Status Run(tensorflow::OpKernelContext* context,
                           const BlockLstmForwardCall& call) const = 0;

 private:
  float cell_clip_ = 0.0f;
  bool use_peephole_ = false;
};

class BlockLstmGradKernel : public CheckedOpKernel {
 public:
  explicit BlockLstmGradKernel(tensorflow::OpKernelConstruction* context)
      : CheckedOpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("use_peephole", &use_peephole_));
  }

  void DoCompute(tensorflow::OpKernelContext* context) final {
    BlockLstmGradCall call;
    call.use_peephole = use_peephole_;
    OP_REQUIRES_OK(context, call.Prepare(context));
    OP_REQUIRES_OK(context, Run(context, call));
  }

 protected:
  virtual absl::Status Run(tensorflow::OpKernelContext* context,
                           const BlockLstmGradCall& call) const = 0;

 private:
  bool use_peephole_ = false;
};

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_BLOCK_LSTM_KERNELS_H_
