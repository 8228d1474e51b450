// CudnnRNNV3, its siblings and their gradient on a GPU. There CudnnRNNV3Packed reads the plain
// weights.
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/core/op_io.h"
#include "cc/gpu/device_allocator.h"
#include "cc/gpu/dropout_generator.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/cudnn_rnn_v3.h"
#include "cc/tf/kernels/gpu_call.h"
#include "cc/tf/kernels/rnn_call.h"
#include "cc/tf/kernels/rnn_kernels.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// reserve_space, allocated when the executor knows its size.
class ReserveAllocator : public gpu::DeviceAllocator {
 public:
  ReserveAllocator(OpKernelContext* context, const RnnConfig& config)
      : context_(context), config_(config) {}

  void* Allocate(int64_t bytes) override {
    if (!AllocateReserveSpace(context_, config_, bytes, &tensor_).ok()) return nullptr;
    return tensor_->data();
  }

  // Null while nobody has asked.
  Tensor* tensor() const { return tensor_; }

 private:
  OpKernelContext* context_;
  const RnnConfig& config_;
  Tensor* tensor_ = nullptr;
};

// Memory for a generator, kept in `held` as long as the kernel lives. Called under its lock.
class GeneratorAllocator : public gpu::DeviceAllocator {
 public:
  GeneratorAllocator(OpKernelContext* context, std::vector<Tensor>* held)
      : context_(context), held_(*held) {}

  void* Allocate(int64_t bytes) override {
    Tensor tensor;
    const absl::Status status =
        context_->allocate_temp(tensorflow::DT_UINT8, tensorflow::TensorShape({bytes}), &tensor);
    if (!status.ok()) return nullptr;
    held_.push_back(tensor);
    return tensor.data();
  }

 private:
  OpKernelContext* context_;
  std::vector<Tensor>& held_;
};

gpu::RnnProblem MakeProblem(const RnnCall& call) {
  gpu::RnnProblem problem;
  problem.config = call.config;
  problem.dtype = ToGpuDtype(call.dtype);
  problem.lengths = call.lengths.flat<int32_t>().data();
  problem.allow_tf32 = AllowTf32();
  return problem;
}

// Without an executor that asks for reserve space: a zero scalar, or an empty vector in training.
absl::Status AllocateNoReserveSpace(OpKernelContext* context, const GpuPlace& place,
                                    const RnnConfig& config) {
  Tensor* tensor = nullptr;
  RNN_OPS_TF_RETURN_IF_ERROR(AllocateReserveSpace(context, config, /*bytes=*/0, &tensor));
  return SetZeroOnGpu(place, tensor);
}

class RnnForwardGpuKernel : public RnnForwardKernel {
 public:
  using RnnForwardKernel::RnnForwardKernel;

 protected:
  absl::Status Run(OpKernelContext* context, const RnnForwardCall& call,
                   DropoutKey dropout_key) const override {
    GpuPlace place;
    RNN_OPS_TF_RETURN_IF_ERROR(place.Take(context));
    TempAllocator scratch(context);
    ReserveAllocator reserve(context, call.config);
    GeneratorAllocator generator_memory(context, &generator_memory_);

    gpu::RnnForwardArgs args;
    args.problem = MakeProblem(call);
    args.dropout_seed = (uint64_t{dropout_key.k1} << 32) | dropout_key.k0;
    // A seed that is an input belongs to this call alone.
    if (call.seed == nullptr) {
      args.generator = &generator_;
      args.generator_memory = &generator_memory;
    }
    args.x = Data(*call.input);
    args.h0 = Data(*call.input_h);
    args.c0 = call.has_c() ? Data(*call.input_c) : nullptr;
    args.params = Data(*call.params);
    args.y = MutableData(call.output);
    args.h_n = MutableData(call.output_h);
    args.c_n = call.has_c() ? MutableData(call.output_c) : nullptr;
    args.reserve = &reserve;
    RNN_OPS_TF_RETURN_IF_ERROR(ToTf(gpu::RnnForward(args, {place.device, place.stream, &scratch})));

    if (!call.has_c()) RNN_OPS_TF_RETURN_IF_ERROR(SetZeroOnGpu(place, call.output_c));
    if (reserve.tensor() != nullptr || call.packed != nullptr) return absl::OkStatus();
    return AllocateNoReserveSpace(context, place, call.config);
  }

 private:
  mutable gpu::DropoutGenerator generator_;
  mutable std::vector<Tensor> generator_memory_;  // under the generator's lock
};

// The input itself where no one else can read it any more, so that cuDNN may write to it, as it
// does; otherwise null.
std::unique_ptr<Tensor> TakeReserveSpace(OpKernelContext* context, const Tensor& reserve_space) {
  return context->forward_input(CudnnRnnBackpropV3Input::kReserveSpace,
                                OpKernelContext::Params::kNoReservation, reserve_space.dtype(),
                                reserve_space.shape(), tensorflow::DEVICE_MEMORY,
                                tensorflow::AllocatorAttributes());
}

class RnnBackpropGpuKernel : public RnnBackpropKernel {
 public:
  using RnnBackpropKernel::RnnBackpropKernel;

 protected:
  absl::Status Run(OpKernelContext* context, const RnnBackpropCall& call) const override {
    if (call.empty()) {
      const PartialShape reserve_space = FromTf(call.reserve_space->shape());
      RNN_OPS_TF_RETURN_IF_ERROR(ToTf(CheckReserveSpace(reserve_space, /*elements=*/0)));
    }
    GpuPlace place;
    RNN_OPS_TF_RETURN_IF_ERROR(place.Take(context));
    TempAllocator scratch(context);

    gpu::RnnBackwardArgs args;
    args.problem = MakeProblem(call);
    args.x = Data(*call.input);
    args.h0 = Data(*call.input_h);
    args.c0 = call.has_c() ? Data(*call.input_c) : nullptr;
    args.params = Data(*call.params);
    args.y = Data(*call.output);
    args.dy = Data(*call.output_backprop);
    args.dh_n = Data(*call.output_h_backprop);
    args.dc_n = call.has_c() ? Data(*call.output_c_backprop) : nullptr;
    const std::unique_ptr<Tensor> last_use = TakeReserveSpace(context, *call.reserve_space);
    args.reserve = call.reserve_space->data();
    args.reserve_bytes = static_cast<int64_t>(call.reserve_space->TotalBytes());
    args.keeps_reserve = last_use == nullptr;
    args.dx = MutableData(call.input_backprop);
    args.dh0 = MutableData(call.input_h_backprop);
    args.dc0 = call.has_c() ? MutableData(call.input_c_backprop) : nullptr;
    args.dparams = MutableData(call.params_backprop);
    RNN_OPS_TF_RETURN_IF_ERROR(
        ToTf(gpu::RnnBackward(args, {place.device, place.stream, &scratch})));
    return call.has_c() ? absl::OkStatus() : SetZeroOnGpu(place, call.input_c_backprop);
  }
};

// What CudnnRNNV3Packed takes for none.
class PackNothingKernel : public CheckedOpKernel {
 public:
  using CheckedOpKernel::CheckedOpKernel;
  void DoCompute(OpKernelContext* context) override {
    Tensor* packed = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, tensorflow::TensorShape({int64_t{0}}), &packed));
  }
};

REGISTER_KERNEL_BUILDER(
    Name("TfRnnOps>PackCudnnRNNParams").Device(tensorflow::DEVICE_GPU).HostMemory("packed"),
    PackNothingKernel);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3Packed")
                            .Device(tensorflow::DEVICE_GPU)
                            .HostMemory("sequence_lengths")
                            .HostMemory("packed"),
                        CudnnRnnV3PackedKernel<RnnForwardGpuKernel>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3")
                            .Device(tensorflow::DEVICE_GPU)
                            .HostMemory("sequence_lengths")
                            .HostMemory("host_reserved"),
                        CudnnRnnV3Kernel<RnnForwardGpuKernel>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>StatelessCudnnRNNV3")
                            .Device(tensorflow::DEVICE_GPU)
                            .HostMemory("sequence_lengths")
                            .HostMemory("seed")
                            .HostMemory("host_reserved"),
                        StatelessCudnnRnnV3Kernel<RnnForwardGpuKernel>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNBackpropV3")
                            .Device(tensorflow::DEVICE_GPU)
                            .HostMemory("sequence_lengths")
                            .HostMemory("host_reserved"),
                        CudnnRnnBackpropV3Kernel<RnnBackpropGpuKernel>);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
