#include "cc/tf/kernels/rnn_cpu.h"

#include <vector>

#include "cc/cpu/call/op_run.h"
#include "cc/cpu/call/packed_header.h"
#include "cc/cpu/dispatch/dispatch.h"
#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/tf/cached_memory.h"
#include "cc/tf/kernels/cpu_host.h"
#include "cc/tf/kernels/kept_weights.h"
#include "cc/tf/op_util.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

namespace {

cpu::RnnProblem ProblemOf(const RnnCall& call) {
  cpu::RnnProblem problem = cpu::MakeRnnProblem(call.config(), call.dtype, call.tensors);
  problem.lengths = {call.lengths.data(), call.sum_of_lengths};
  return problem;
}

}  // namespace

absl::Status RnnForwardCpuKernel::Run(const RnnCall& call, DropoutKey dropout_key) const {
  cpu::RnnProblem problem = ProblemOf(call);
  problem.dropout_key[0] = dropout_key.k0;
  problem.dropout_key[1] = dropout_key.k1;
  CpuHost host(call);
  return ToTf(cpu::RunRnnForward(problem, call.tensors, &host));
}

absl::Status RnnBackpropCpuKernel::Run(const RnnCall& call) const {
  CpuHost host(call);
  return ToTf(cpu::RunRnnBackward(ProblemOf(call), call.tensors, &host));
}

absl::Status PackRnnWeightsOnCpu(const OpCall& call, const RnnConfig& config, bool keep) {
  const cpu::KernelTable& kernels = cpu::Kernels();
  const cpu::RnnProblem problem = cpu::MakeRnnProblem(config, call.dtype, call.tensors);
  const cpu::PackedFormat format = kernels.rnn_packed_format(&problem);
  const cpu::PackedHeader header =
      cpu::MakePackedHeader(problem, kernels.vector_bytes, format.element);
  std::vector<Tensor> weights;
  for (const TensorSpec& input : call.op.inputs) {
    if (call.tensors.in(input.arg) != nullptr) weights.push_back(call.input(input.arg));
  }
  if (keep) {
    Tensor kept;
    if (KeptWeights::OfProcess().Find(weights, header, &kept)) {
      call.context->set_output(0, kept);
      return absl::OkStatus();
    }
  }

  if (format.bytes < 0) {
    return absl::InvalidArgumentError("The packed weights would need more than 2^62 bytes.");
  }
  Tensor* packed = nullptr;
  RNN_OPS_TF_RETURN_IF_ERROR(AllocateLargeOutput(
      call.context, 0, TensorShape({cpu::kPackedHeaderBytes + format.bytes}), &packed));
  cpu::WritePackedHeader(header, packed->data());
  char* const panels = static_cast<char*>(packed->data()) + cpu::kPackedHeaderBytes;
  CpuHost host(call);
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(cpu::RunRnnPack(problem, call.tensors, panels, &host)));
  if (keep) KeptWeights::OfProcess().Keep(weights, *packed);
  return absl::OkStatus();
}

}  // namespace rnn_ops::tf_kernels
