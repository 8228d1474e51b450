// CPU kernels for TensorFlow's own CudnnRNN ops, those that TensorFlow has none for.

#include <string>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/tf/kernels/cpu_host.h"
#include "cc/tf/kernels/rnn_params_kernels.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"

namespace rnn_ops::tf_kernels {

struct StockKernel {
  const char* op;
  tensorflow::OpKernel* (*create)(tensorflow::OpKernelConstruction* context);
};

namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;

template <typename Kernel, const OpSpec& op>
OpKernel* Create(OpKernelConstruction* context) {
  return new Kernel(context, op);
}

OpKernel* CreateParamsSize(OpKernelConstruction* context) {
  return new RnnParamsSizeKernel(context, /*has_num_proj=*/true);
}

template <CanonicalAttrs version>
OpKernel* CreateCanonicalToParams(OpKernelConstruction* context) {
  return new RnnCanonicalToParamsKernel(context, version, &CopyBytesOnCpu);
}

template <CanonicalAttrs version>
OpKernel* CreateParamsToCanonical(OpKernelConstruction* context) {
  return new RnnParamsToCanonicalKernel(context, version, &CopyBytesOnCpu);
}

// One kernel for each of the eleven ops.
std::vector<StockKernel> StockKernels() {
  constexpr CanonicalAttrs kOneCount = CanonicalAttrs::kNumParams;
  constexpr CanonicalAttrs kTwoCounts = CanonicalAttrs::kNumWeightsAndNumBiases;
  return {
      {"CudnnRNN", &Create<RnnForwardCpuKernel, kCudnnRnnV1>},
      {"CudnnRNNV2", &Create<RnnForwardCpuKernel, kCudnnRnnV2>},
      {"CudnnRNNV3", &Create<RnnForwardCpuKernel, kCudnnRnnV3>},
      {"CudnnRNNBackprop", &Create<RnnBackpropCpuKernel, kCudnnRnnBackpropV1>},
      {"CudnnRNNBackpropV2", &Create<RnnBackpropCpuKernel, kCudnnRnnBackpropV2>},
      {"CudnnRNNBackpropV3", &Create<RnnBackpropCpuKernel, kCudnnRnnBackpropV3>},
      {"CudnnRNNParamsSize", &CreateParamsSize},
      {"CudnnRNNCanonicalToParams", &CreateCanonicalToParams<kOneCount>},
      {"CudnnRNNCanonicalToParamsV2", &CreateCanonicalToParams<kTwoCounts>},
      {"CudnnRNNParamsToCanonical", &CreateParamsToCanonical<kOneCount>},
      {"CudnnRNNParamsToCanonicalV2", &CreateParamsToCanonical<kTwoCounts>},
  };
}

// Registers the kernels when a host loads the library: Python, TF_LoadLibrary or dlopen.
//
// WHY not REGISTER_KERNEL_BUILDER: if two kernels are registered for one op and device, TensorFlow
// rejects both. So the library registers no kernel for an op that another library already serves.

bool HasCpuKernel(const char* op) {
  const tensorflow::KernelList kernels = tensorflow::GetRegisteredKernelsForOp(op);
  for (const tensorflow::KernelDef& kernel : kernels.kernel()) {
    // A kernel for the device DEFAULT serves every device that has no other kernel.
    if (kernel.device_type() == tensorflow::DEVICE_CPU ||
        kernel.device_type() == tensorflow::DEVICE_DEFAULT) {
      return true;
    }
  }
  return false;
}

// Returns the names of the ops for which it registered a kernel, each followed by a newline.
std::string RegisterMissingKernels() {
  std::string registered;
  for (const StockKernel& kernel : StockKernels()) {
    if (HasCpuKernel(kernel.op)) continue;
    tensorflow::kernel_factory::OpKernelRegistrar(
        tensorflow::KernelDefBuilder(kernel.op).Device(tensorflow::DEVICE_CPU).Build(),
        "rnn_ops::tf_kernels::StockKernel", kernel.create);
    registered += kernel.op;
    registered += '\n';
  }
  return registered;
}

// Runs under the lock of the dynamic loader, so two libraries cannot both find a kernel missing.
// Never destroyed: TensorFlow cannot unregister a kernel, and therefore never unloads a library.
const std::string* const registered_ops = new std::string(RegisterMissingKernels());

}  // namespace

}  // namespace rnn_ops::tf_kernels

// Python calls this function through ctypes. The string lives as long as the library.
extern "C" __attribute__((visibility("default"))) const char* tf_rnn_ops_stock_ops() {
  return rnn_ops::tf_kernels::registered_ops->c_str();
}
