// CudnnRNNV3, its variants, their gradient and the parameter ops on a GPU.

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/gpu/call_args.h"
#include "cc/gpu/cudnn/rnn_dropout.h"
#include "cc/gpu/memory/device_allocator.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/tf/kernels/gpu_call.h"
#include "cc/tf/kernels/op_call.h"
#include "cc/tf/kernels/rnn_params_kernels.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

// CudnnRNNV3, its variants and their gradient on a GPU. CudnnRNNV3Packed on a GPU reads the
// unpacked weights.

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// Allocates reserve_space when the executor knows its size.
class ReserveAllocator : public gpu::DeviceAllocator {
 public:
  explicit ReserveAllocator(const RnnCall& call) : call_(call) {}

  void* Allocate(int64_t bytes) override {
    if (!AllocateReserveSpace(call_, bytes, &tensor_).ok()) return nullptr;
    return tensor_->data();
  }

  // Null until the executor has allocated.
  Tensor* tensor() const { return tensor_; }

 private:
  const RnnCall& call_;
  Tensor* tensor_ = nullptr;
};

// Memory for a generator. `held` keeps the memory as long as the kernel lives. Called with the lock
// of the generator held.
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

gpu::StackProblem MakeProblem(const RnnCall& call) {
  gpu::StackProblem problem;
  static_cast<RnnConfig&>(problem) = call.config();
  problem.dtype = call.dtype;
  problem.lengths = call.lengths.data();
  problem.allow_tf32 = AllowTf32();
  return problem;
}

class RnnForwardGpuKernel : public RnnForwardKernel {
 public:
  using RnnForwardKernel::RnnForwardKernel;

 protected:
  absl::Status Run(const RnnCall& call, DropoutKey dropout_key) const override {
    GpuPlace place;
    RNN_OPS_RETURN_IF_ERROR(place.Find(call.context));
    TempAllocator scratch(call.context);
    ReserveAllocator reserve(call);
    GeneratorAllocator generator_memory(call.context, &generator_memory_);

    gpu::RnnForwardArgs args;
    args.problem = MakeProblem(call);
    args.dropout_seed = (uint64_t{dropout_key.k1} << 32) | dropout_key.k0;
    // A generator would continue its states. If the seed is an input, it affects only this call.
    if (call.tensors.in(Arg::seed) == nullptr && !resets_dropout()) {
      args.generator = &generator_;
      args.generator_memory = &generator_memory;
    }
    gpu::SetForward(call.tensors, &args);
    args.reserve = &reserve;
    if (call.config().is_training) {
      Tensor* const host_reserved =
          call.context->mutable_output(call.op.Output(Arg::host_reserved));
      args.algorithm = &host_reserved->scalar<int8_t>()();
    }
    RNN_OPS_RETURN_IF_ERROR(ToTf(gpu::RnnForward(args, {place.device, place.stream, &scratch})));

    for (Tensor* output : call.zeros()) {
      RNN_OPS_RETURN_IF_ERROR(SetZeroOnGpu(place, output));
    }
    if (reserve.tensor() != nullptr || !call.config().is_training) return absl::OkStatus();
    Tensor* empty = nullptr;  // the executor has not allocated
    return AllocateReserveSpace(call, /*bytes=*/0, &empty);
  }

 private:
  mutable gpu::DropoutGenerator generator_;
  mutable std::vector<Tensor> generator_memory_;  // guarded by the lock of the generator
};

// Returns the input if no other op can read it any more, so that cuDNN may overwrite it in place.
// Otherwise returns null.
std::unique_ptr<Tensor> LastUseOfReserveSpace(const RnnCall& call) {
  const Tensor& reserve_space = call.input(Arg::reserve_space);
  return call.context->forward_input(call.op.Input(Arg::reserve_space),
                                     OpKernelContext::Params::kNoReservation, reserve_space.dtype(),
                                     reserve_space.shape(), tensorflow::DEVICE_MEMORY,
                                     tensorflow::AllocatorAttributes());
}

class RnnBackpropGpuKernel : public RnnBackpropKernel {
 public:
  using RnnBackpropKernel::RnnBackpropKernel;

 protected:
  absl::Status Run(const RnnCall& call) const override {
    const Tensor& reserve_space = call.input(Arg::reserve_space);
    if (call.empty()) {
      RNN_OPS_RETURN_IF_ERROR(
          ToTf(CheckReserveSpace(FromTf(reserve_space.shape()), /*elements=*/0)));
    }
    GpuPlace place;
    RNN_OPS_RETURN_IF_ERROR(place.Find(call.context));
    TempAllocator scratch(call.context);

    gpu::RnnBackwardArgs args;
    args.problem = MakeProblem(call);
    gpu::SetBackward(call.tensors, &args);
    const std::unique_ptr<Tensor> last_use = LastUseOfReserveSpace(call);
    args.reserve = reserve_space.data();
    args.reserve_bytes = static_cast<int64_t>(reserve_space.TotalBytes());
    args.keeps_reserve = last_use == nullptr;
    const Tensor& host_reserved = call.input(Arg::host_reserved);
    args.algorithm = host_reserved.NumElements() == 1 ? host_reserved.flat<int8_t>()(0) : 0;
    RNN_OPS_RETURN_IF_ERROR(ToTf(gpu::RnnBackward(args, {place.device, place.stream, &scratch})));
    for (Tensor* output : call.zeros()) {
      RNN_OPS_RETURN_IF_ERROR(SetZeroOnGpu(place, output));
    }
    return absl::OkStatus();
  }
};

// Packs nothing, after the checks of the op.
class PackParamsGpuKernel : public PackNothingGpuKernel {
 public:
  explicit PackParamsGpuKernel(tensorflow::OpKernelConstruction* context)
      : PackNothingGpuKernel(context) {
    OP_REQUIRES_OK(context, ReadPackAttrs(context, &config_));
  }

 protected:
  void DoCompute(tensorflow::OpKernelContext* context) final {
    OP_REQUIRES_OK(context, CheckParamsShape(config_, FromTf(context->input(0).shape())));
    PackNothingGpuKernel::DoCompute(context);
  }

 private:
  RnnConfig config_;
};

REGISTER_KERNEL_BUILDER(
    Name("TfRnnOps>PackCudnnRNNParams").Device(tensorflow::DEVICE_GPU).HostMemory("packed"),
    PackParamsGpuKernel);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3Packed")
                            .Device(tensorflow::DEVICE_GPU)
                            .HostMemory("sequence_lengths")
                            .HostMemory("packed"),
                        KernelOf<RnnForwardGpuKernel, kCudnnRnnV3Packed>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3")
                            .Device(tensorflow::DEVICE_GPU)
                            .HostMemory("sequence_lengths")
                            .HostMemory("host_reserved"),
                        KernelOf<RnnForwardGpuKernel, kCudnnRnnV3>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>StatelessCudnnRNNV3")
                            .Device(tensorflow::DEVICE_GPU)
                            .HostMemory("sequence_lengths")
                            .HostMemory("seed")
                            .HostMemory("host_reserved"),
                        KernelOf<RnnForwardGpuKernel, kStatelessCudnnRnnV3>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNBackpropV3")
                            .Device(tensorflow::DEVICE_GPU)
                            .HostMemory("sequence_lengths")
                            .HostMemory("host_reserved"),
                        KernelOf<RnnBackpropGpuKernel, kCudnnRnnBackpropV3>);

// The parameter ops on a GPU. The sizes are read on the host, and the buffer stays on the device.

using ::tensorflow::DEVICE_GPU;

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNParamsSize")
                            .Device(DEVICE_GPU)
                            .HostMemory("num_layers")
                            .HostMemory("num_units")
                            .HostMemory("input_size")
                            .HostMemory("params_size"),
                        ParamsSizeKernel);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNCanonicalToParamsV2")
                            .Device(DEVICE_GPU)
                            .HostMemory("num_layers")
                            .HostMemory("num_units")
                            .HostMemory("input_size"),
                        CanonicalToParamsV2Kernel<&CopyBytesOnGpu>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNParamsToCanonicalV2")
                            .Device(DEVICE_GPU)
                            .HostMemory("num_layers")
                            .HostMemory("num_units")
                            .HostMemory("input_size"),
                        ParamsToCanonicalV2Kernel<&CopyBytesOnGpu>);

}  // namespace

}  // namespace rnn_ops::tf_kernels
