// The parameter ops on a GPU. The sizes are read on the host, and the buffer stays on the device.
#include "cc/tf/kernels/gpu_call.h"
#include "cc/tf/kernels/rnn_params_kernels.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {
namespace {

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
