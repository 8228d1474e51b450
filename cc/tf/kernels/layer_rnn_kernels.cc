// LayerRNN, its other forms and its gradient on the CPU: one layer with weights in Keras's layout.
#include <cstdint>

#include "cc/core/op/op_spec.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/rnn_cpu.h"
#include "cc/tf/op_util.h"
#include "cc/tf/reserve_maker.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

using ::tensorflow::DEVICE_CPU;

class LayerBackpropCpuKernel : public RnnBackpropCpuKernel {
 public:
  using RnnBackpropCpuKernel::RnnBackpropCpuKernel;

 protected:
  absl::Status Run(const RnnCall& call) const override {
    const absl::Status status = RnnBackpropCpuKernel::Run(call);
    if (!absl::IsInvalidArgument(status)) return status;
    // The size may tell more than that it is wrong.
    const LayerReserveCall made = {call.config(), call.dtype,
                                   call.tensors.in(Arg::layer_norm) != nullptr,
                                   call.sum_of_lengths};
    RNN_OPS_TF_RETURN_IF_ERROR(ToTf(
        CheckReserveMaker(made, DeviceKind::kCpu, FromTf(call.input(Arg::reserve_space).shape()))));
    return status;
  }
};

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNN").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kLayerRnn>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNPacked").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kLayerRnnPacked>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>QuantizedLayerRNN").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kQuantizedLayerRnn>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNBackprop").Device(DEVICE_CPU),
                        KernelOf<LayerBackpropCpuKernel, kLayerRnnBackprop>);

}  // namespace
}  // namespace rnn_ops::tf_kernels
