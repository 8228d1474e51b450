#include "cc/tf/kernels/rnn_kernels.h"

#include <cstring>

#include "cc/tf/kernels/rnn_cpu.h"
#include "cc/tf/op_util.h"

namespace rnn_ops {
namespace tf_kernels {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;

RnnForwardKernel::RnnForwardKernel(OpKernelConstruction* context,
                                   const RnnForwardSignature& signature)
    : CheckedOpKernel(context), signature_(signature) {
  OP_REQUIRES_OK(context, ReadRnnAttrs(context, signature_.attrs, &attrs_));
  if (signature_.packed != kAbsent) attrs_.is_training = false;
}

void RnnForwardKernel::DoCompute(OpKernelContext* context) {
  RnnForwardCall call;
  OP_REQUIRES_OK(context, call.Prepare(context, signature_, attrs_));
  DropoutKey key;
  if (attrs_.is_training && attrs_.dropout > 0) {
    key = NextDropoutKey(call);
  }
  OP_REQUIRES_OK(context, Run(context, call, key));
}

DropoutKey RnnForwardKernel::NextDropoutKey(const RnnForwardCall& call) {
  if (call.seed == nullptr) {
    return MakeDropoutKey(attrs_.seed, attrs_.seed2,
                          dropout_calls_.fetch_add(1, std::memory_order_relaxed));
  }
  int64_t seed[2];
  std::memcpy(seed, Data(*call.seed), sizeof(seed));
  return MakeDropoutKey(seed[0], seed[1], /*call=*/0);
}

RnnBackpropKernel::RnnBackpropKernel(OpKernelConstruction* context,
                                     const RnnBackpropSignature& signature)
    : CheckedOpKernel(context), signature_(signature) {
  OP_REQUIRES_OK(context, ReadRnnAttrs(context, signature_.attrs, &attrs_));
}

void RnnBackpropKernel::DoCompute(OpKernelContext* context) {
  RnnBackpropCall call;
  OP_REQUIRES_OK(context, call.Prepare(context, signature_, attrs_));
  OP_REQUIRES_OK(context, Run(context, call));
}

absl::Status RnnForwardCpuKernel::Run(OpKernelContext* context, const RnnForwardCall& call,
                                      DropoutKey dropout_key) const {
  return RunRnnForwardOnCpu(context, call, dropout_key);
}

absl::Status RnnBackpropCpuKernel::Run(OpKernelContext* context,
                                       const RnnBackpropCall& call) const {
  return RunRnnBackpropOnCpu(context, call);
}

}  // namespace tf_kernels
}  // namespace rnn_ops
