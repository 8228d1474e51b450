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

cpu::RnnProblem MakeProblem(const RnnCall& call, DropoutKey key) {
  cpu::RnnProblem problem = cpu::MakeRnnProblem(call.config, call.dtype);
  problem.dropout_key[0] = key.k0;
  problem.dropout_key[1] = key.k1;
  problem.lengths = call.lengths.NumElements() > 0 ? call.lengths.flat<int32_t>().data() : nullptr;
  if (!call.has_layer()) return problem;
  problem.weight_layout = cpu::kKerasWeights;
  problem.bias_rows =
      call.layer.bias == nullptr ? 0 : static_cast<int32_t>(call.layer.bias->dims());
  problem.input_masked = call.layer.input_mask != nullptr ? 1 : 0;
  problem.recurrent_masked = call.layer.recurrent_mask != nullptr ? 1 : 0;
  return problem;
}

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

cpu::LayerWeights MakeLayer(const RnnCall::Layer& layer) {
  const auto data = [](const Tensor* tensor) { return tensor ? Data(*tensor) : nullptr; };
  return {data(layer.kernel), data(layer.recurrent_kernel), data(layer.bias),
          data(layer.input_mask), data(layer.recurrent_mask)};
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

absl::Status RunRnnForwardOnCpu(OpKernelContext* context, const RnnForwardCall& call,
                                DropoutKey dropout_key) {
  if (!call.has_c()) SetZero(call.output_c);
  PoolParallelFor parallel(context);
  cpu::RnnForwardArgs args{};
  args.problem = MakeProblem(call, dropout_key);
  Tensor aligned_packed;
  if (call.packed != nullptr) {
    RNN_OPS_TF_RETURN_IF_ERROR(
        TakePanels(context, *call.packed, args.problem, &aligned_packed, &args.packed));
    args.problem.weights_packed = args.packed != nullptr ? 1 : 0;
  }
  args.parallel = parallel.callback();
  const cpu::RnnSizes sizes = cpu::RnnForwardSizes(args);

  Tensor* reserve = nullptr;
  if (call.packed == nullptr) {
    RNN_OPS_TF_RETURN_IF_ERROR(
        AllocateReserveSpace(context, call.config, sizes.reserve_bytes, &reserve));
  }
  if (call.config.is_training) {
    // The rounding up to whole elements leaves bytes that no kernel writes.
    const int64_t padding = static_cast<int64_t>(reserve->TotalBytes()) - sizes.reserve_bytes;
    if (padding > 0) {
      std::memset(static_cast<char*>(reserve->data()) + sizes.reserve_bytes, 0, padding);
    }
    args.reserve = reserve->data();
  } else if (reserve != nullptr) {
    SetZero(reserve);
  }
  Tensor scratch;
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateScratch(context, sizes.scratch_bytes, &scratch, &args.scratch));

  args.x = Data(*call.input);
  args.h0 = Data(*call.input_h);
  args.c0 = call.has_c() ? Data(*call.input_c) : nullptr;
  args.params = call.has_layer() ? nullptr : Data(*call.params);
  args.layer = MakeLayer(call.layer);
  args.y = MutableData(call.output);
  args.h_n = MutableData(call.output_h);
  args.c_n = call.has_c() ? MutableData(call.output_c) : nullptr;
  return ToTf(cpu::RunRnnForward(call.config, args));
}

absl::Status PackRnnWeightsOnCpu(OpKernelContext* context, const RnnPackCall& call) {
  const cpu::KernelTable& kernels = cpu::Kernels();
  cpu::RnnPackArgs args{};
  args.problem = MakeProblem(call, DropoutKey());
  const cpu::RnnPackSizes sizes = kernels.rnn_pack_sizes(&args.problem);
  const cpu::PackedHeader header =
      cpu::MakePackedHeader(args.problem, kernels.vector_bytes, sizes.element);
  std::vector<Tensor> weights;
  for (const Tensor* tensor :
       {call.params, call.layer.kernel, call.layer.recurrent_kernel, call.layer.bias}) {
    if (tensor != nullptr) weights.push_back(*tensor);
  }
  if (call.keep) {
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
  Tensor scratch;
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateScratch(context, sizes.scratch_bytes, &scratch, &args.scratch));
  PoolParallelFor parallel(context);
  args.parallel = parallel.callback();
  args.params = call.has_layer() ? nullptr : Data(*call.params);
  args.layer = MakeLayer(call.layer);
  args.packed = static_cast<char*>(packed->data()) + cpu::kPackedHeaderBytes;
  cpu::WritePackedHeader(header, packed->data());
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(cpu::FromKernel(kernels.rnn_pack(&args))));
  if (call.keep) KeptWeights::OfProcess().Keep(std::move(weights), *packed);
  return absl::OkStatus();
}

absl::Status RunRnnBackpropOnCpu(OpKernelContext* context, const RnnBackpropCall& call) {
  if (!call.has_c()) SetZero(call.input_c_backprop);
  PoolParallelFor parallel(context);
  cpu::RnnBackwardArgs args{};
  args.problem = MakeProblem(call, DropoutKey());
  args.parallel = parallel.callback();
  const cpu::RnnSizes sizes = cpu::RnnBackwardSizes(args);
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(cpu::CheckReserveSpace(args.problem, sizes.reserve_bytes,
                                                         FromTf(call.reserve_space->shape()))));

  Tensor aligned_reserve;
  RNN_OPS_TF_RETURN_IF_ERROR(
      AlignedData(context, *call.reserve_space, &aligned_reserve, &args.reserve));
  Tensor scratch;
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateScratch(context, sizes.scratch_bytes, &scratch, &args.scratch));

  args.x = Data(*call.input);
  args.h0 = Data(*call.input_h);
  args.params = call.has_layer() ? nullptr : Data(*call.params);
  args.layer = MakeLayer(call.layer);
  args.y = Data(*call.output);
  args.dy = Data(*call.output_backprop);
  args.dh_n = Data(*call.output_h_backprop);
  args.dx = MutableData(call.input_backprop);
  args.dh0 = MutableData(call.input_h_backprop);
  const auto gradient = [](Tensor* tensor) { return tensor ? MutableData(tensor) : nullptr; };
  args.dparams = gradient(call.params_backprop);
  args.dkernel = gradient(call.kernel_backprop);
  args.drecurrent_kernel = gradient(call.recurrent_kernel_backprop);
  args.dbias = gradient(call.bias_backprop);
  if (call.has_c()) {
    args.c0 = Data(*call.input_c);
    args.dc_n = Data(*call.output_c_backprop);
    args.dc0 = MutableData(call.input_c_backprop);
  }
  return ToTf(cpu::RunRnnBackward(call.config, args));
}

}  // namespace tf_kernels
}  // namespace rnn_ops
