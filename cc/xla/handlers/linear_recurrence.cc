// LinearRecurrence on the CPU.
#include "cc/cpu/call/op_run.h"
#include "cc/xla/handlers/ops.h"

namespace rnn_ops::ffi {

Status LinearRecurrence(const OpSpec& op, Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  bool transposed = false;
  RNN_OPS_RETURN_IF_ERROR(call->Attr("transposed", &transposed));
  if (IsNarrow(call->dtype())) return InvalidArgument("T must be float or double.");
  call->SetZeros();
  const cpu::LinearRecurrenceProblem problem = cpu::MakeLinearRecurrenceProblem(
      call->attrs().mode, call->dims(), call->dtype(), transposed, call->tensors());
  return cpu::RunLinearRecurrence(problem, call->tensors(), call);
}

}  // namespace rnn_ops::ffi
