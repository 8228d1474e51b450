// BlockLSTMV2 and its gradient on the CPU.
#include "cc/core/call_tensors.h"
#include "cc/core/op_spec.h"
#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/rnn_run.h"
#include "cc/tf/kernels/block_lstm_kernels.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::Tensor;

cpu::BlockLstmProblem MakeProblem(const BlockLstmCall& call) {
  cpu::BlockLstmProblem problem;
  static_cast<BlockLstmConfig&>(problem) = call.config;
  problem.dtype = call.dtype;
  return problem;
}

// `ScratchBytes` and `Run` are functions of the kernel table.
template <typename Args, typename ScratchBytes, typename Run>
absl::Status RunOnCpu(const BlockLstmCall& call, Args* args, ScratchBytes scratch_bytes, Run run) {
  if (call.config.empty()) {
    for (Tensor* output : call.outputs) SetZero(output);
    return absl::OkStatus();
  }
  PoolParallelFor parallel(call.context);
  args->problem = MakeProblem(call);
  args->parallel = parallel.callback();
  Scratch scratch;
  RNN_OPS_TF_RETURN_IF_ERROR(scratch.Allocate(
      call.context, scratch_bytes(&args->problem, &args->parallel.threads), &args->scratch));
  return ToTf(cpu::FromKernel(run(args)));
}

class BlockLstmCpuKernel : public BlockLstmKernel {
 public:
  using BlockLstmKernel::BlockLstmKernel;

 protected:
  absl::Status Run(const BlockLstmCall& call) const override {
    const cpu::KernelTable& kernels = cpu::Kernels();
    cpu::BlockLstmForwardArgs args{};
    SetBlockLstmForward(call.tensors, &args);
    return RunOnCpu(call, &args, kernels.block_lstm_forward_scratch, kernels.block_lstm_forward);
  }
};

class BlockLstmGradCpuKernel : public BlockLstmKernel {
 public:
  using BlockLstmKernel::BlockLstmKernel;

 protected:
  absl::Status Run(const BlockLstmCall& call) const override {
    const cpu::KernelTable& kernels = cpu::Kernels();
    cpu::BlockLstmBackwardArgs args{};
    SetBlockLstmBackward(call.tensors, &args);
    return RunOnCpu(call, &args, kernels.block_lstm_backward_scratch, kernels.block_lstm_backward);
  }
};

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>BlockLSTMV2").Device(tensorflow::DEVICE_CPU),
                        KernelOf<BlockLstmCpuKernel, kBlockLstm>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>BlockLSTMGradV2").Device(tensorflow::DEVICE_CPU),
                        KernelOf<BlockLstmGradCpuKernel, kBlockLstmGrad>);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
