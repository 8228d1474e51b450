// BlockLSTMV2 and its gradient on a GPU.
#include "cc/gpu/block_lstm_gpu.h"
#include "cc/tf/kernels/block_lstm_call.h"
#include "cc/tf/kernels/block_lstm_kernels.h"
#include "cc/tf/kernels/gpu_call.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::OpKernelContext;

gpu::BlockLstmProblem MakeProblem(const BlockLstmCall& call) {
  gpu::BlockLstmProblem problem;
  problem.dtype = ToGpuDtype(call.dtype);
  problem.dims = call.dims;
  problem.seq_len_max = call.seq_len_max;
  problem.use_peephole = call.use_peephole;
  problem.cell_clip = call.cell_clip;
  problem.allow_tf32 = AllowTf32();
  return problem;
}

class BlockLstmGpuKernel : public BlockLstmKernel {
 public:
  using BlockLstmKernel::BlockLstmKernel;

 protected:
  absl::Status Run(OpKernelContext* context, const BlockLstmForwardCall& call) const override {
    GpuPlace place;
    RNN_OPS_TF_RETURN_IF_ERROR(place.Take(context));
    TempAllocator scratch(context);
    gpu::BlockLstmForwardArgs args{};
    args.problem = MakeProblem(call);
    SetForwardPointers(context, call, &args);
    return ToTf(gpu::BlockLstmForward(args, &scratch, place.stream));
  }
};

class BlockLstmGradGpuKernel : public BlockLstmGradKernel {
 public:
  using BlockLstmGradKernel::BlockLstmGradKernel;

 protected:
  absl::Status Run(OpKernelContext* context, const BlockLstmGradCall& call) const override {
    GpuPlace place;
    RNN_OPS_TF_RETURN_IF_ERROR(place.Take(context));
    TempAllocator scratch(context);
    gpu::BlockLstmBackwardArgs args{};
    args.problem = MakeProblem(call);
    SetGradPointers(context, call, &args);
    return ToTf(gpu::BlockLstmBackward(args, &scratch, place.stream));
  }
};

REGISTER_KERNEL_BUILDER(
    Name("TfRnnOps>BlockLSTMV2").Device(tensorflow::DEVICE_GPU).HostMemory("seq_len_max"),
    BlockLstmGpuKernel);
REGISTER_KERNEL_BUILDER(
    Name("TfRnnOps>BlockLSTMGradV2").Device(tensorflow::DEVICE_GPU).HostMemory("seq_len_max"),
    BlockLstmGradGpuKernel);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
