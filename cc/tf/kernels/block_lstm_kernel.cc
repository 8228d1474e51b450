// BlockLSTMV2 and its gradient on the CPU.
#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/rnn_run.h"
#include "cc/tf/kernels/block_lstm_call.h"
#include "cc/tf/kernels/block_lstm_kernels.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

cpu::BlockLstmProblem MakeProblem(const BlockLstmCall& call) {
  cpu::BlockLstmProblem problem =
      cpu::MakeBlockLstmProblem(call.dims, call.dtype, call.seq_len_max);
  problem.use_peephole = call.use_peephole ? 1 : 0;
  problem.cell_clip = call.cell_clip;
  return problem;
}

class BlockLstmCpuKernel : public BlockLstmKernel {
 public:
  using BlockLstmKernel::BlockLstmKernel;

 protected:
  absl::Status Run(OpKernelContext* context, const BlockLstmForwardCall& call) const override {
    if (call.empty()) {
      for (Tensor* output : call.outputs) SetZero(output);
      return absl::OkStatus();
    }
    const cpu::KernelTable& kernels = cpu::Kernels();
    PoolParallelFor parallel(context);
    cpu::BlockLstmForwardArgs args{};
    args.problem = MakeProblem(call);
    args.parallel = parallel.callback();
    Tensor scratch;
    RNN_OPS_TF_RETURN_IF_ERROR(AllocateScratch(
        context, kernels.block_lstm_forward_scratch(&args.problem, &args.parallel.threads),
        &scratch, &args.scratch));
    SetForwardPointers(context, call, &args);
    return ToTf(cpu::FromKernel(kernels.block_lstm_forward(&args)));
  }
};

class BlockLstmGradCpuKernel : public BlockLstmGradKernel {
 public:
  using BlockLstmGradKernel::BlockLstmGradKernel;

 protected:
  absl::Status Run(OpKernelContext* context, const BlockLstmGradCall& call) const override {
    if (call.empty()) {
      for (Tensor* output : call.outputs) SetZero(output);
      return absl::OkStatus();
    }
    const cpu::KernelTable& kernels = cpu::Kernels();
    PoolParallelFor parallel(context);
    cpu::BlockLstmBackwardArgs args{};
    args.problem = MakeProblem(call);
    args.parallel = parallel.callback();
    Tensor scratch;
    RNN_OPS_TF_RETURN_IF_ERROR(AllocateScratch(
        context, kernels.block_lstm_backward_scratch(&args.problem, &args.parallel.threads),
        &scratch, &args.scratch));
    SetGradPointers(context, call, &args);
    return ToTf(cpu::FromKernel(kernels.block_lstm_backward(&args)));
  }
};

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>BlockLSTMV2").Device(tensorflow::DEVICE_CPU),
                        BlockLstmCpuKernel);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>BlockLSTMGradV2").Device(tensorflow::DEVICE_CPU),
                        BlockLstmGradCpuKernel);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
