// LinearRecurrence on the CPU.
#include "cc/core/op_spec.h"
#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/rnn_run.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

class LinearRecurrenceKernel : public CheckedOpKernel {
 public:
  explicit LinearRecurrenceKernel(OpKernelConstruction* context) : CheckedOpKernel(context) {
    OP_REQUIRES_OK(context, ReadRnnAttrs(context, kLinearRecurrence.attrs, &attrs_));
    OP_REQUIRES_OK(context, context->GetAttr("transposed", &transposed_));
  }

  void DoCompute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Run(context)); }

 private:
  absl::Status Run(OpKernelContext* context) {
    LinearRecurrenceCall call(kLinearRecurrence, attrs_, context, &last_plan_);
    RNN_OPS_TF_RETURN_IF_ERROR(call.Prepare());
    for (Tensor* output : call.zeros()) SetZero(output);
    if (call.dims.max_time == 0 || call.dims.batch == 0) return absl::OkStatus();
    cpu::LinearRecurrenceArgs args = cpu::MakeLinearRecurrenceArgs(
        attrs_.mode, call.dims, call.dtype, transposed_, call.tensors);
    PoolParallelFor parallel(context);
    args.parallel = parallel.callback();
    const cpu::KernelTable& kernels = cpu::Kernels();
    Scratch scratch;
    RNN_OPS_TF_RETURN_IF_ERROR(scratch.Allocate(
        context, kernels.linear_recurrence_scratch(&args.problem, &args.parallel.threads),
        &args.scratch));
    return ToTf(cpu::FromKernel(kernels.linear_recurrence(&args)));
  }

  RnnAttrs attrs_;
  bool transposed_ = false;
  LastPlan last_plan_;
};

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LinearRecurrence").Device(tensorflow::DEVICE_CPU),
                        LinearRecurrenceKernel);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
