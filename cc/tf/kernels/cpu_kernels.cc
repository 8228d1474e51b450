// The registrations of our ops on a CPU.

#include <cstdint>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/shapes.h"
#include "cc/cpu/call/op_run.h"
#include "cc/cpu/kernel_args.h"
#include "cc/tf/kernels/cpu_host.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/kernels/rnn_params_kernels.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

using ::tensorflow::DEVICE_CPU;

// CudnnRNNV3, its variants and their gradient.

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kCudnnRnnV3>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>StatelessCudnnRNNV3").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kStatelessCudnnRnnV3>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3Packed").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kCudnnRnnV3Packed>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNBackpropV3").Device(DEVICE_CPU),
                        KernelOf<RnnBackpropCpuKernel, kCudnnRnnBackpropV3>);

// LayerRNN, its other forms and its gradient: one layer with weights in Keras's layout.

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNN").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kLayerRnn>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNPacked").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kLayerRnnPacked>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>QuantizedLayerRNN").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kQuantizedLayerRnn>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNBackprop").Device(DEVICE_CPU),
                        KernelOf<RnnBackpropCpuKernel, kLayerRnnBackprop>);

// LinearRecurrence.

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;

class LinearRecurrenceKernel : public CheckedOpKernel {
 public:
  explicit LinearRecurrenceKernel(OpKernelConstruction* context) : CheckedOpKernel(context) {
    OP_REQUIRES_OK(context, ReadRnnAttrs(context, kLinearRecurrence.attrs, &attrs_));
    OP_REQUIRES_OK(context, context->GetAttr("transposed", &transposed_));
  }

  void DoCompute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Run(context)); }

 private:
  absl::Status Run(OpKernelContext* context) {
    OpCall call(kLinearRecurrence, attrs_, context, &last_plan_);
    RNN_OPS_RETURN_IF_ERROR(call.BindInputs());
    RNN_OPS_RETURN_IF_ERROR(call.AllocateOutputs());
    const cpu::LinearRecurrenceProblem problem = cpu::MakeLinearRecurrenceProblem(
        attrs_.mode, call.plan().dims, call.dtype, transposed_, call.tensors);
    CpuHost host(call);
    return ToTf(cpu::RunLinearRecurrence(problem, call.tensors, &host));
  }

  RnnAttrs attrs_;
  bool transposed_ = false;
  LastPlan last_plan_;
};

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LinearRecurrence").Device(tensorflow::DEVICE_CPU),
                        LinearRecurrenceKernel);

// BlockLSTMV2 and its gradient.

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

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNParamsSize").Device(DEVICE_CPU), ParamsSizeKernel);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNCanonicalToParamsV2").Device(DEVICE_CPU),
                        CanonicalToParamsV2Kernel<&CopyBytesOnCpu>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNParamsToCanonicalV2").Device(DEVICE_CPU),
                        ParamsToCanonicalV2Kernel<&CopyBytesOnCpu>);

// PackCudnnRNNParams, PackLayerRNN and PackQuantizedLayerRNN.

class PackCudnnRnnParamsKernel : public CheckedOpKernel {
 public:
  explicit PackCudnnRnnParamsKernel(OpKernelConstruction* context) : CheckedOpKernel(context) {
    OP_REQUIRES_OK(context, ReadPackAttrs(context, &config_));
    OP_REQUIRES_OK(context, context->GetAttr("keep", &keep_));
  }

  void DoCompute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckParamsShape(config_, FromTf(context->input(0).shape())));
    const RnnAttrs attrs;  // config_ has the attributes
    OpCall call(kPackCudnnRnnParams, attrs, context, &last_plan_);
    OP_REQUIRES_OK(context, call.BindInputs());
    OP_REQUIRES_OK(context, PackRnnWeightsOnCpu(call, config_, keep_));
  }

 private:
  RnnConfig config_;
  bool keep_ = false;
  LastPlan last_plan_;
};

template <const OpSpec& op>
class PackLayerRnnKernel : public CheckedOpKernel {
 public:
  explicit PackLayerRnnKernel(OpKernelConstruction* context) : CheckedOpKernel(context) {
    OP_REQUIRES_OK(context, ReadRnnAttrs(context, op.attrs, &attrs_));
    OP_REQUIRES_OK(context, context->GetAttr("keep", &keep_));
  }

  void DoCompute(OpKernelContext* context) override {
    OpCall call(op, attrs_, context, &last_plan_);
    OP_REQUIRES_OK(context, call.BindInputs());
    OP_REQUIRES_OK(context, PackRnnWeightsOnCpu(call, call.plan().config, keep_));
  }

 private:
  RnnAttrs attrs_;
  bool keep_ = false;
  LastPlan last_plan_;
};

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>PackCudnnRNNParams").Device(tensorflow::DEVICE_CPU),
                        PackCudnnRnnParamsKernel);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>PackLayerRNN").Device(tensorflow::DEVICE_CPU),
                        PackLayerRnnKernel<kPackLayerRnn>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>PackQuantizedLayerRNN").Device(tensorflow::DEVICE_CPU),
                        PackLayerRnnKernel<kPackQuantizedLayerRnn>);

}  // namespace

}  // namespace rnn_ops::tf_kernels
