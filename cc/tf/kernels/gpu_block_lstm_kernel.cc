// BlockLSTMV2 and its gradient on a GPU.
#include "cc/core/op/op_spec.h"
#include "cc/gpu/call_args.h"
#include "cc/gpu/steps/block_lstm_gpu.h"
#include "cc/tf/kernels/block_lstm_kernels.h"
#include "cc/tf/kernels/gpu_call.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

gpu::BlockLstmProblem MakeProblem(const BlockLstmCall& call) {
  gpu::BlockLstmProblem problem;
  static_cast<BlockLstmConfig&>(problem) = call.config;
  problem.dtype = call.dtype;
  problem.allow_tf32 = AllowTf32();
  return problem;
}

class BlockLstmGpuKernel : public BlockLstmKernel {
 public:
  using BlockLstmKernel::BlockLstmKernel;

 protected:
  absl::Status Run(const BlockLstmCall& call) const override {
    GpuPlace place;
    RNN_OPS_TF_RETURN_IF_ERROR(place.Find(call.context));
    TempAllocator scratch(call.context);
    gpu::BlockLstmForwardArgs args{};
    args.problem = MakeProblem(call);
    gpu::SetBlockLstmForward(call.tensors, &args);
    return ToTf(gpu::BlockLstmForward(args, &scratch, place.stream));
  }
};

class BlockLstmGradGpuKernel : public BlockLstmKernel {
 public:
  using BlockLstmKernel::BlockLstmKernel;

 protected:
  absl::Status Run(const BlockLstmCall& call) const override {
    GpuPlace place;
    RNN_OPS_TF_RETURN_IF_ERROR(place.Find(call.context));
    TempAllocator scratch(call.context);
    gpu::BlockLstmBackwardArgs args{};
    args.problem = MakeProblem(call);
    gpu::SetBlockLstmBackward(call.tensors, &args);
    return ToTf(gpu::BlockLstmBackward(args, &scratch, place.stream));
  }
};

REGISTER_KERNEL_BUILDER(
    Name("TfRnnOps>BlockLSTMV2").Device(tensorflow::DEVICE_GPU).HostMemory("seq_len_max"),
    KernelOf<BlockLstmGpuKernel, kBlockLstm>);
REGISTER_KERNEL_BUILDER(
    Name("TfRnnOps>BlockLSTMGradV2").Device(tensorflow::DEVICE_GPU).HostMemory("seq_len_max"),
    KernelOf<BlockLstmGradGpuKernel, kBlockLstmGrad>);

}  // namespace
}  // namespace rnn_ops::tf_kernels
