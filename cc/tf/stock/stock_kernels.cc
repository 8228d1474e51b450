#include "cc/tf/stock/stock_kernels.h"

#include "cc/core/op/op_spec.h"
#include "cc/tf/kernels/rnn_cpu.h"
#include "cc/tf/kernels/rnn_params_kernels.h"

namespace rnn_ops::tf_kernels {
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

}  // namespace

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

}  // namespace rnn_ops::tf_kernels
