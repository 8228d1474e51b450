// LayerRNN, its other forms and its gradient on a GPU. On a GPU the ops with packed weights read
// the unpacked weights, and int8 weights are multiplied by their scales at each call.
#include <cstdint>
#include <utility>

#include "cc/core/network/op_spec.h"
#include "cc/gpu/call_args.h"
#include "cc/gpu/layer/layer_gpu.h"
#include "cc/gpu/layer/switch.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/gpu_call.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/op_util.h"
#include "cc/tf/reserve_maker.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::OpKernel;
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
      RNN_OPS_TF_RETURN_IF_ERROR(
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
    const PartialShape shape = FromTf(reserve.shape());
    RNN_OPS_TF_RETURN_IF_ERROR(ToTf(CheckReserveMaker(
        {problem, problem.dtype, problem.has_layer_norm}, DeviceKind::kGpu, shape)));
    const int64_t elements =
        ReserveElements(gpu::LayerReserveBytes(problem), SizeOf(problem.dtype));
    RNN_OPS_TF_RETURN_IF_ERROR(ToTf(CheckReserveSpace(shape, elements)));
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
class PackLayerGpuKernel : public PackNothingKernel {
 public:
  explicit PackLayerGpuKernel(OpKernelConstruction* context) : PackNothingKernel(context) {
    OP_REQUIRES_OK(context, ReadRnnAttrs(context, op.attrs, &attrs_));
  }

 protected:
  void DoCompute(OpKernelContext* context) final {
    OpCall call(op, attrs_, context, &last_plan_);
    OP_REQUIRES_OK(context, call.BindInputs());
    PackNothingKernel::DoCompute(context);
  }

 private:
  RnnAttrs attrs_;
  LastPlan last_plan_;
};

template <typename Kernel>
OpKernel* Create(OpKernelConstruction* context) {
  return new Kernel(context);
}

void Register(tensorflow::KernelDefBuilder&& kernel, OpKernel* (*create)(OpKernelConstruction*)) {
  tensorflow::kernel_factory::OpKernelRegistrar(kernel.Device(tensorflow::DEVICE_GPU).Build(),
                                                "rnn_ops::tf_kernels::LayerGpuKernel", create);
}

// WHY not REGISTER_KERNEL_BUILDER: without the switch the ops must have no kernel for GPUs, so that
// TensorFlow places them on the CPU.
bool RegisterIfSwitchedOn() {
  if (!gpu::LayersSwitchedOn()) return false;
  using tensorflow::KernelDefBuilder;
  Register(KernelDefBuilder("TfRnnOps>LayerRNN"),
           &Create<KernelOf<LayerForwardGpuKernel, kLayerRnn>>);
  Register(std::move(KernelDefBuilder("TfRnnOps>LayerRNNPacked").HostMemory("packed")),
           &Create<KernelOf<LayerForwardGpuKernel, kLayerRnnPacked>>);
  Register(std::move(KernelDefBuilder("TfRnnOps>QuantizedLayerRNN").HostMemory("packed")),
           &Create<KernelOf<LayerForwardGpuKernel, kQuantizedLayerRnn>>);
  Register(KernelDefBuilder("TfRnnOps>LayerRNNBackprop"),
           &Create<KernelOf<LayerBackpropGpuKernel, kLayerRnnBackprop>>);
  Register(std::move(KernelDefBuilder("TfRnnOps>PackLayerRNN").HostMemory("packed")),
           &Create<PackLayerGpuKernel<kPackLayerRnn>>);
  Register(std::move(KernelDefBuilder("TfRnnOps>PackQuantizedLayerRNN").HostMemory("packed")),
           &Create<PackLayerGpuKernel<kPackQuantizedLayerRnn>>);
  return true;
}

[[maybe_unused]] const bool registered = RegisterIfSwitchedOn();

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
