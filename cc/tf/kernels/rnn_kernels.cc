#include "cc/tf/kernels/rnn_kernels.h"

#include <cstdlib>
#include <cstring>

#include "cc/core/op/dropout_reset.h"
#include "cc/tf/op_util.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;

RnnForwardKernel::RnnForwardKernel(OpKernelConstruction* context, const OpSpec& op)
    : CheckedOpKernel(context), op_(op) {
  OP_REQUIRES_OK(context, ReadRnnAttrs(context, op.attrs, &attrs_));
  OP_REQUIRES_OK(context, ToTf(ParseResetRndGenState(std::getenv("TF_CUDNN_RESET_RND_GEN_STATE"),
                                                     &resets_dropout_)));
}

void RnnForwardKernel::DoCompute(OpKernelContext* context) {
  RnnCall call(op_, attrs_, context, &last_plan_);
  OP_REQUIRES_OK(context, call.Prepare());
  DropoutKey key;
  const bool drops = attrs_.is_training && attrs_.dropout > 0;
  if (drops || (attrs_.has_zoneout() && call.tensors.in(Arg::seed) != nullptr)) {
    key = NextDropoutKey(call);
  }
  OP_REQUIRES_OK(context, Run(call, key));
}

DropoutKey RnnForwardKernel::NextDropoutKey(const RnnCall& call) {
  const void* given = call.tensors.in(Arg::seed);
  if (given == nullptr) {
    const uint64_t call =
        resets_dropout_ ? 0 : dropout_calls_.fetch_add(1, std::memory_order_relaxed);
    return MakeDropoutKey(attrs_.seed, attrs_.seed2, call);
  }
  int64_t seed[2];
  std::memcpy(seed, given, sizeof(seed));
  return MakeDropoutKey(seed[0], seed[1], /*call=*/0);
}

RnnBackpropKernel::RnnBackpropKernel(OpKernelConstruction* context, const OpSpec& op)
    : CheckedOpKernel(context), op_(op) {
  OP_REQUIRES_OK(context, ReadRnnAttrs(context, op.attrs, &attrs_));
}

void RnnBackpropKernel::DoCompute(OpKernelContext* context) {
  RnnCall call(op_, attrs_, context, &last_plan_);
  OP_REQUIRES_OK(context, call.Prepare());
  OP_REQUIRES_OK(context, Run(call));
}

}  // namespace rnn_ops::tf_kernels
