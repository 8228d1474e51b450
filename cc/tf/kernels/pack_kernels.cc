// PackCudnnRNNParams, PackLayerRNN and PackQuantizedLayerRNN on the CPU.
#include "cc/core/op/op_spec.h"
#include "cc/core/op/shapes.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/kernels/rnn_cpu.h"
#include "cc/tf/op_util.h"
#include "cc/tf/params_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;

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
