#include "cc/tf/kernels/rnn_params_kernels.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

using ::tensorflow::DEVICE_CPU;

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNParamsSize").Device(DEVICE_CPU), ParamsSizeKernel);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNCanonicalToParamsV2").Device(DEVICE_CPU),
                        CanonicalToParamsV2Kernel<&CopyBytesOnCpu>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>CudnnRNNParamsToCanonicalV2").Device(DEVICE_CPU),
                        ParamsToCanonicalV2Kernel<&CopyBytesOnCpu>);

}  // namespace
}  // namespace rnn_ops::tf_kernels
