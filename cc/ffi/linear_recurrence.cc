// LinearRecurrence on the CPU.
#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/rnn_run.h"
#include "cc/ffi/ops.h"

namespace rnn_ops {
namespace ffi {

Status LinearRecurrence(const OpSpec& op, Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Take(op));
  bool transposed = false;
  RNN_OPS_RETURN_IF_ERROR(call->Attr("transposed", &transposed));
  for (const int k : call->zeros()) call->Zero(k);
  if (call->dims().max_time == 0 || call->dims().batch == 0) return Status();
  cpu::LinearRecurrenceArgs args = cpu::MakeLinearRecurrenceArgs(
      call->attrs().mode, call->dims(), call->dtype(), transposed, call->tensors());
  if (call->dtype() != kFloat32 && call->dtype() != kFloat64) {
    return InvalidArgument("T must be float or double.");
  }
  args.parallel = call->parallel();
  const cpu::KernelTable& kernels = cpu::Kernels();
  RNN_OPS_RETURN_IF_ERROR(call->Scratch(
      kernels.linear_recurrence_scratch(&args.problem, &args.parallel.threads), &args.scratch));
  return cpu::FromKernel(kernels.linear_recurrence(&args));
}

}  // namespace ffi
}  // namespace rnn_ops
