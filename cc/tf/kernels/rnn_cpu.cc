#include "cc/tf/kernels/rnn_cpu.h"

#include <cstring>
#include <utility>
#include <vector>

#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/packed_header.h"
#include "cc/cpu/rnn_run.h"
#include "cc/tf/cached_memory.h"
#include "cc/tf/kernels/kept_weights.h"
#include "cc/tf/op_util.h"

namespace rnn_ops {
namespace tf_kernels {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

namespace {

// The data of a tensor, or of a copy in `aligned`: a caller may hand in a slice, whose data need
// not be aligned as the kernels want.
absl::Status AlignedData(OpKernelContext* context, const Tensor& tensor, Tensor* aligned,
                         const void** data) {
  *data = Data(tensor);
  if (reinterpret_cast<uintptr_t>(*data) % 64 == 0) return absl::OkStatus();
  RNN_OPS_TF_RETURN_IF_ERROR(AllocateLargeTemp(context, tensor.dtype(), tensor.shape(), aligned));
  CopyElements(tensor, aligned);
  *data = Data(*aligned);
  return absl::OkStatus();
}

// The panels of a tensor of packed weights, or null where the plain weights are to be read: packed
// is empty, or for other kernels than those of this machine.
absl::Status TakePanels(OpKernelContext* context, const Tensor& packed,
                        const cpu::RnnProblem& problem, Tensor* aligned, const void** panels) {
  *panels = nullptr;
  bool usable = false;
  RNN_OPS_TF_RETURN_IF_ERROR(
      ToTf(cpu::TakePacked(problem, FromTf(packed.shape()), Data(packed), &usable)));
  if (!usable) return absl::OkStatus();
  const void* data = nullptr;
  RNN_OPS_TF_RETURN_IF_ERROR(AlignedData(context, packed, aligned, &data));
  *panels = static_cast<const char*>(data) + cpu::kPackedHeaderBytes;
  return absl::OkStatus();
}

}  // namespace

absl::Status RnnForwardCpuKernel::Run(const RnnCall& call, DropoutKey dropout_key) const {
  for (Tensor* output : call.zeros()) SetZero(output);
  PoolParallelFor parallel(call.context);
  cpu::RnnForwardArgs args =
      cpu::MakeForwardArgs(call.config, call.dtype, call.lengths.data(), call.tensors, dropout_key);
  Tensor aligned_packed;
  if (call.op.Input("packed") != kAbsent) {
    RNN_OPS_TF_RETURN_IF_ERROR(TakePanels(call.context, call.input("packed"), args.problem,
                                          &aligned_packed, &args.packed));
    args.problem.weights_packed = args.packed != nullptr;
  }
  args.parallel = parallel.callback();
  const cpu::RnnSizes sizes = cpu::RnnForwardSizes(args);

  if (call.config.is_training) {
    Tensor* reserve = nullptr;
    RNN_OPS_TF_RETURN_IF_ERROR(AllocateReserveSpace(call, sizes.reserve_bytes, &reserve));
    // The rounding up to whole elements leaves bytes that no kernel writes.
    const int64_t padding = static_cast<int64_t>(reserve->TotalBytes()) - sizes.reserve_bytes;
    if (padding > 0) {
      std::memset(static_cast<char*>(reserve->data()) + sizes.reserve_bytes, 0, padding);
    }
    args.reserve = reserve->data();
  }
  Scratch scratch;
  RNN_OPS_TF_RETURN_IF_ERROR(scratch.Allocate(call.context, sizes.scratch_bytes, &args.scratch));
  return ToTf(cpu::RunRnnForward(args));
}

absl::Status PackRnnWeightsOnCpu(const RnnPackCall& call, bool keep) {
  OpKernelContext* const context = call.context;
  const cpu::KernelTable& kernels = cpu::Kernels();
  cpu::RnnPackArgs args = cpu::MakePackArgs(call.config, call.dtype, call.tensors);
  const cpu::RnnPackSizes sizes = kernels.rnn_pack_sizes(&args.problem);
  const cpu::PackedHeader header =
      cpu::MakePackedHeader(args.problem, kernels.vector_bytes, sizes.element);
  std::vector<Tensor> weights;
  for (const TensorSpec& input : call.op.inputs) {
    if (call.tensors.in(input.name) != nullptr) weights.push_back(call.input(input.name));
  }
  if (keep) {
    Tensor kept;
    if (KeptWeights::OfProcess().Find(weights, header, &kept)) {
      context->set_output(0, kept);
      return absl::OkStatus();
    }
  }

  if (sizes.packed_bytes < 0) {
    return absl::InvalidArgumentError("The packed weights would need more than 2^62 bytes.");
  }
  Tensor* packed = nullptr;
  RNN_OPS_TF_RETURN_IF_ERROR(AllocateLargeOutput(
      context, 0, TensorShape({cpu::kPackedHeaderBytes + sizes.packed_bytes}), &packed));
  Scratch scratch;
  RNN_OPS_TF_RETURN_IF_ERROR(scratch.Allocate(context, sizes.scratch_bytes, &args.scratch));
  PoolParallelFor parallel(context);
  args.parallel = parallel.callback();
  args.packed = static_cast<char*>(packed->data()) + cpu::kPackedHeaderBytes;
  cpu::WritePackedHeader(header, packed->data());
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(cpu::FromKernel(kernels.rnn_pack(&args))));
  if (keep) KeptWeights::OfProcess().Keep(std::move(weights), *packed);
  return absl::OkStatus();
}

absl::Status RnnBackpropCpuKernel::Run(const RnnCall& call) const {
  for (Tensor* output : call.zeros()) SetZero(output);
  PoolParallelFor parallel(call.context);
  cpu::RnnBackwardArgs args =
      cpu::MakeBackwardArgs(call.config, call.dtype, call.lengths.data(), call.tensors);
  args.parallel = parallel.callback();
  const cpu::RnnSizes sizes = cpu::RnnBackwardSizes(args);
  const Tensor& reserve_space = call.input("reserve_space");
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(
      cpu::CheckReserveSpace(args.problem, sizes.reserve_bytes, FromTf(reserve_space.shape()))));
  Tensor aligned_reserve;
  RNN_OPS_TF_RETURN_IF_ERROR(
      AlignedData(call.context, reserve_space, &aligned_reserve, &args.reserve));
  Scratch scratch;
  RNN_OPS_TF_RETURN_IF_ERROR(scratch.Allocate(call.context, sizes.scratch_bytes, &args.scratch));
  return ToTf(cpu::RunRnnBackward(args));
}

}  // namespace tf_kernels
}  // namespace rnn_ops
