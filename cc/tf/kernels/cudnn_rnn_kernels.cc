// CudnnRNNV3, its variants and their gradient on the CPU.
#include "cc/core/op/op_spec.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/rnn_cpu.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

using ::tensorflow::DEVICE_CPU;

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kCudnnRnnV3>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>StatelessCudnnRNNV3").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kStatelessCudnnRnnV3>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3Packed").Device(DEVICE_CPU),
                        KernelOf<RnnForwardCpuKernel, kCudnnRnnV3Packed>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNBackpropV3").Device(DEVICE_CPU),
                        KernelOf<RnnBackpropCpuKernel, kCudnnRnnBackpropV3>);

}  // namespace
}  // namespace rnn_ops::tf_kernels
