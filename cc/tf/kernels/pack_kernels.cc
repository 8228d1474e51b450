// PackCudnnRNNParams and PackLayerRNN on the CPU.
#include <string>

#include "cc/core/op_io.h"
#include "cc/core/shapes.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/rnn_call.h"
#include "cc/tf/kernels/rnn_cpu.h"
#include "cc/tf/op_util.h"
#include "cc/tf/params_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
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
    RnnPackCall call;
    OP_REQUIRES_OK(context, ToKernelDtype(context->input_dtype(0), &call.dtype));
    OP_REQUIRES_OK(context, CheckParamsShape(config_, FromTf(context->input(0).shape())));
    call.config = config_;
    call.params = &context->input(0);
    call.keep = keep_;
    OP_REQUIRES_OK(context, PackRnnWeightsOnCpu(context, call));
  }

 private:
  RnnConfig config_;
  bool keep_ = false;
};

class PackLayerRnnKernel : public CheckedOpKernel {
 public:
  explicit PackLayerRnnKernel(OpKernelConstruction* context) : CheckedOpKernel(context) {
    std::string rnn_mode;
    OP_REQUIRES_OK(context, context->GetAttr("rnn_mode", &rnn_mode));
    OP_REQUIRES_OK(context, ToTf(ParseRnnMode(rnn_mode, &attrs_.mode)));
    OP_REQUIRES_OK(context, context->GetAttr("keep", &keep_));
    attrs_.is_training = false;
  }

  void DoCompute(OpKernelContext* context) override {
    using In = PackLayerRnnInput;
    LayerRnnInputShapes shapes;  // those of a call are unknown
    shapes.kernel = FromTf(context->input(In::kKernel).shape());
    shapes.recurrent_kernel = FromTf(context->input(In::kRecurrentKernel).shape());
    shapes.bias = FromTf(context->input(In::kBias).shape());
    RnnDims dims;
    OP_REQUIRES_OK(context, ToTf(InferLayerRnn(attrs_, shapes, &dims)));
    dims.max_time = dims.batch = 0;
    RnnPackCall call;
    OP_REQUIRES_OK(context, ToKernelDtype(context->input_dtype(In::kKernel), &call.dtype));
    OP_REQUIRES_OK(context, ToTf(MakeLayerRnnConfig(attrs_, dims, &call.config)));
    call.layer.kernel = &context->input(In::kKernel);
    call.layer.recurrent_kernel = &context->input(In::kRecurrentKernel);
    call.layer.bias = IsAbsent(shapes.bias) ? nullptr : &context->input(In::kBias);
    call.keep = keep_;
    OP_REQUIRES_OK(context, PackRnnWeightsOnCpu(context, call));
  }

 private:
  RnnAttrs attrs_;
  bool keep_ = false;
};

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>PackCudnnRNNParams").Device(tensorflow::DEVICE_CPU),
                        PackCudnnRnnParamsKernel);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>PackLayerRNN").Device(tensorflow::DEVICE_CPU),
                        PackLayerRnnKernel);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
