// LinearRecurrence on the CPU.
#include "cc/core/op/op_spec.h"
#include "cc/cpu/call/op_run.h"
#include "cc/cpu/kernel_args.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/cpu_host.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

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
    RNN_OPS_TF_RETURN_IF_ERROR(call.BindInputs());
    RNN_OPS_TF_RETURN_IF_ERROR(call.AllocateOutputs());
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

}  // namespace
}  // namespace rnn_ops::tf_kernels
