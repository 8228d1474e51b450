// LayerRNN, its other forms, BlockLSTMV2 and their gradients on a GPU.

#include <cstdint>

#include "cc/core/op/op_spec.h"
#include "cc/gpu/call_args.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/tf/kernels/gpu_call.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

// LayerRNN, its other forms and its gradient on a GPU. On a GPU the ops with packed weights read
// the unpacked weights, and int8 weights are multiplied by their scales at each call.

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// The lengths, masks and the seed stay on the device, so a call never waits for the stream.
class LayerGpuKernel : public CheckedOpKernel {
 public:
  LayerGpuKernel(OpKernelConstruction* context, const OpSpec& op)
      : CheckedOpKernel(context), op_(op) {
    OP_REQUIRES_OK(context, ReadRnnAttrs(context, op.attrs, &attrs_));
  }

  void DoCompute(OpKernelContext* context) final {
    OpCall call(op_, attrs_, context, &last_plan_);
    OP_REQUIRES_OK(context, call.BindInputs());
    OP_REQUIRES_OK(context, call.AllocateOutputs());
    gpu::LayerProblem problem = gpu::MakeLayerProblem(call.plan().config, call.dtype, call.tensors);
    problem.allow_tf32 = AllowTf32();
    GpuPlace place;
    OP_REQUIRES_OK(context, place.Find(context));
    OP_REQUIRES_OK(context, Run(call, problem, place));
    for (Tensor* output : call.zeros()) OP_REQUIRES_OK(context, SetZeroOnGpu(place, output));
  }

 protected:
  virtual absl::Status Run(const OpCall& call, const gpu::LayerProblem& problem,
                           const GpuPlace& place) const = 0;

 private:
  const OpSpec& op_;
  RnnAttrs attrs_;
  LastPlan last_plan_;
};

class LayerForwardGpuKernel : public LayerGpuKernel {
 public:
  using LayerGpuKernel::LayerGpuKernel;

 protected:
  absl::Status Run(const OpCall& call, const gpu::LayerProblem& problem,
                   const GpuPlace& place) const override {
    gpu::LayerForwardArgs args = {};
    args.problem = problem;
    gpu::SetLayerForward(call.tensors, &args);
    if (problem.is_training) {
      Tensor* reserve = nullptr;
      RNN_OPS_RETURN_IF_ERROR(
          AllocateReserveSpace(call, gpu::LayerReserveBytes(problem), &reserve));
      args.reserve = reserve->data();
    }
    TempAllocator scratch(call.context);
    return ToTf(gpu::LayerForward(args, &scratch, place.stream));
  }
};

class LayerBackpropGpuKernel : public LayerGpuKernel {
 public:
  using LayerGpuKernel::LayerGpuKernel;

 protected:
  absl::Status Run(const OpCall& call, const gpu::LayerProblem& problem,
                   const GpuPlace& place) const override {
    const Tensor& reserve = call.input(Arg::reserve_space);
    const int64_t elements =
        ReserveElements(gpu::LayerReserveBytes(problem), SizeOf(problem.dtype));
    RNN_OPS_RETURN_IF_ERROR(ToTf(CheckReserveSpace(FromTf(reserve.shape()), elements)));
    gpu::LayerBackwardArgs args = {};
    args.problem = problem;
    gpu::SetLayerBackward(call.tensors, &args);
    args.reserve = reserve.data();
    TempAllocator scratch(call.context);
    return ToTf(gpu::LayerBackward(args, &scratch, place.stream));
  }
};

// Packs nothing, after the checks of the op.
template <const OpSpec& op>
class PackLayerGpuKernel : public PackNothingGpuKernel {
 public:
  explicit PackLayerGpuKernel(OpKernelConstruction* context) : PackNothingGpuKernel(context) {
    OP_REQUIRES_OK(context, ReadRnnAttrs(context, op.attrs, &attrs_));
  }

 protected:
  void DoCompute(OpKernelContext* context) final {
    OpCall call(op, attrs_, context, &last_plan_);
    OP_REQUIRES_OK(context, call.BindInputs());
    PackNothingGpuKernel::DoCompute(context);
  }

 private:
  RnnAttrs attrs_;
  LastPlan last_plan_;
};

using tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNN").Device(DEVICE_GPU),
                        KernelOf<LayerForwardGpuKernel, kLayerRnn>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNPacked").Device(DEVICE_GPU).HostMemory("packed"),
                        KernelOf<LayerForwardGpuKernel, kLayerRnnPacked>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>QuantizedLayerRNN").Device(DEVICE_GPU).HostMemory("packed"),
                        KernelOf<LayerForwardGpuKernel, kQuantizedLayerRnn>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNBackprop").Device(DEVICE_GPU),
                        KernelOf<LayerBackpropGpuKernel, kLayerRnnBackprop>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>PackLayerRNN").Device(DEVICE_GPU).HostMemory("packed"),
                        PackLayerGpuKernel<kPackLayerRnn>);
REGISTER_KERNEL_BUILDER(
    Name("TfRnnOps>PackQuantizedLayerRNN").Device(DEVICE_GPU).HostMemory("packed"),
    PackLayerGpuKernel<kPackQuantizedLayerRnn>);

// BlockLSTMV2 and its gradient on a GPU.

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
    RNN_OPS_RETURN_IF_ERROR(place.Find(call.context));
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
    RNN_OPS_RETURN_IF_ERROR(place.Find(call.context));
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
