#include "cc/tf/kernels/cudnn_rnn_v3.h"
#include "cc/tf/kernels/rnn_kernels.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNBackpropV3").Device(tensorflow::DEVICE_CPU),
                        CudnnRnnBackpropV3Kernel<RnnBackpropCpuKernel>);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
