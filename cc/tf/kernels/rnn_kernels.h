// The OpKernels of the CudnnRNN family for an op of any name: a device derives from the first two
// and runs a prepared call; a registration derives from a device's and says where its op has its
// tensors.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_RNN_KERNELS_H_
#define TF_RNN_OPS_CC_TF_KERNELS_RNN_KERNELS_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "cc/core/dropout.h"
#include "cc/core/rnn_config.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/rnn_call.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {

class RnnForwardKernel : public CheckedOpKernel {
 public:
  RnnForwardKernel(tensorflow::OpKernelConstruction* context, const RnnForwardSignature& signature);
  void DoCompute(tensorflow::OpKernelContext* context) final;

 protected:
  // Also allocates and fills reserve_space, and sets an output_c that is a mere scalar to zero.
  virtual absl::Status Run(tensorflow::OpKernelContext* context, const RnnForwardCall& call,
                           DropoutKey dropout_key) const = 0;

 private:
  DropoutKey NextDropoutKey(const RnnForwardCall& call);

  const RnnForwardSignature signature_;
  RnnAttrs attrs_;
  // The only state: without a seed among the inputs, each training call with dropout takes the next
  // number for its mask.
  std::atomic<uint64_t> dropout_calls_{0};
};

class RnnBackpropKernel : public CheckedOpKernel {
 public:
  RnnBackpropKernel(tensorflow::OpKernelConstruction* context,
                    const RnnBackpropSignature& signature);
  void DoCompute(tensorflow::OpKernelContext* context) final;

 protected:
  // Also sets an input_c_backprop that is a mere scalar to zero.
  virtual absl::Status Run(tensorflow::OpKernelContext* context,
                           const RnnBackpropCall& call) const = 0;

 private:
  const RnnBackpropSignature signature_;
  RnnAttrs attrs_;
};

// ---- On the CPU ----

class RnnForwardCpuKernel : public RnnForwardKernel {
 public:
  using RnnForwardKernel::RnnForwardKernel;

 protected:
  absl::Status Run(tensorflow::OpKernelContext* context, const RnnForwardCall& call,
                   DropoutKey dropout_key) const override;
};

class RnnBackpropCpuKernel : public RnnBackpropKernel {
 public:
  using RnnBackpropKernel::RnnBackpropKernel;

 protected:
  absl::Status Run(tensorflow::OpKernelContext* context,
                   const RnnBackpropCall& call) const override;
};

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_RNN_KERNELS_H_
