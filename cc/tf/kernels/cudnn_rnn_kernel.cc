#include "cc/tf/kernels/cudnn_rnn_v3.h"
#include "cc/tf/kernels/rnn_kernels.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3").Device(tensorflow::DEVICE_CPU),
                        CudnnRnnV3Kernel<RnnForwardCpuKernel>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>StatelessCudnnRNNV3").Device(tensorflow::DEVICE_CPU),
                        StatelessCudnnRnnV3Kernel<RnnForwardCpuKernel>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNV3Packed").Device(tensorflow::DEVICE_CPU),
                        CudnnRnnV3PackedKernel<RnnForwardCpuKernel>);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
