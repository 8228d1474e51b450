// LayerRNN, its other forms and its gradient on the CPU: one layer with weights in Keras's layout.
#include "cc/core/network/op_spec.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/rnn_cpu.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::DEVICE_CPU;

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNN").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kLayerRnn>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNPacked").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kLayerRnnPacked>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>QuantizedLayerRNN").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kQuantizedLayerRnn>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNBackprop").Device(DEVICE_CPU),
                        KernelOf<RnnBackpropCpuKernel, kLayerRnnBackprop>);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
