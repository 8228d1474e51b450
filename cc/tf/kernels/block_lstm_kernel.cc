// BlockLSTMV2 and its gradient on the CPU.
#include "cc/core/op/op_spec.h"
#include "cc/cpu/call/op_run.h"
#include "cc/cpu/kernel_args.h"
#include "cc/tf/kernels/block_lstm_kernels.h"
#include "cc/tf/kernels/cpu_host.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

cpu::BlockLstmProblem MakeProblem(const BlockLstmCall& call) {
  cpu::BlockLstmProblem problem;
  static_cast<BlockLstmConfig&>(problem) = call.config;
  problem.dtype = call.dtype;
  return problem;
}

class BlockLstmCpuKernel : public BlockLstmKernel {
 public:
  using BlockLstmKernel::BlockLstmKernel;

 protected:
  absl::Status Run(const BlockLstmCall& call) const override {
    CpuHost host(call);
    return ToTf(cpu::RunBlockLstmForward(MakeProblem(call), call.tensors, &host));
  }
};

class BlockLstmGradCpuKernel : public BlockLstmKernel {
 public:
  using BlockLstmKernel::BlockLstmKernel;

 protected:
  absl::Status Run(const BlockLstmCall& call) const override {
    CpuHost host(call);
    return ToTf(cpu::RunBlockLstmBackward(MakeProblem(call), call.tensors, &host));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>BlockLSTMV2").Device(tensorflow::DEVICE_CPU),
                        KernelOf<BlockLstmCpuKernel, kBlockLstm>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>BlockLSTMGradV2").Device(tensorflow::DEVICE_CPU),
                        KernelOf<BlockLstmGradCpuKernel, kBlockLstmGrad>);

}  // namespace
}  // namespace rnn_ops::tf_kernels
