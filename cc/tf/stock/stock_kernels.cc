#include "cc/tf/stock/stock_kernels.h"

#include "cc/core/op_io.h"
#include "cc/tf/kernels/rnn_kernels.h"
#include "cc/tf/kernels/rnn_params_kernels.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;

enum class Version { kV1, kV2, kV3 };

// Inputs of the first versions, which have no sequence_lengths.
struct BackpropInputBeforeV3 {
  enum { kOutput = 4, kHostReserved = 11 };
};

RnnAttrSet AttrsOf(Version version) {
  RnnAttrSet attrs;
  attrs.num_proj = version == Version::kV3;
  // Without the attribute, time is the first dimension.
  attrs.time_major = version == Version::kV3;
  return attrs;
}

RnnForwardSignature ForwardSignature(Version version) {
  RnnForwardSignature signature;
  signature.attrs = AttrsOf(version);
  if (version == Version::kV3) signature.sequence_lengths = CudnnRnnV3Input::kSequenceLengths;
  if (version != Version::kV1) signature.host_reserved = CudnnRnnV3Output::kHostReserved;
  // TensorFlow's V2 hands the number of cuDNN's algorithm and its math mode to the gradient.
  if (version == Version::kV2) signature.host_reserved_size = 2;
  return signature;
}

RnnBackpropSignature BackpropSignature(Version version) {
  RnnBackpropSignature signature;
  signature.attrs = AttrsOf(version);
  signature.attrs.is_training = false;  // no version has the attribute
  if (version == Version::kV3) {
    signature.sequence_lengths = CudnnRnnBackpropV3Input::kSequenceLengths;
    signature.output = CudnnRnnBackpropV3Input::kOutput;
    return signature;
  }
  signature.output = BackpropInputBeforeV3::kOutput;
  return signature;
}

template <Version version>
OpKernel* CreateForward(OpKernelConstruction* context) {
  return new RnnForwardCpuKernel(context, ForwardSignature(version));
}

template <Version version>
OpKernel* CreateBackprop(OpKernelConstruction* context) {
  return new RnnBackpropCpuKernel(context, BackpropSignature(version));
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
      {"CudnnRNN", &CreateForward<Version::kV1>},
      {"CudnnRNNV2", &CreateForward<Version::kV2>},
      {"CudnnRNNV3", &CreateForward<Version::kV3>},
      {"CudnnRNNBackprop", &CreateBackprop<Version::kV1>},
      {"CudnnRNNBackpropV2", &CreateBackprop<Version::kV2>},
      {"CudnnRNNBackpropV3", &CreateBackprop<Version::kV3>},
      {"CudnnRNNParamsSize", &CreateParamsSize},
      {"CudnnRNNCanonicalToParams", &CreateCanonicalToParams<kOneCount>},
      {"CudnnRNNCanonicalToParamsV2", &CreateCanonicalToParams<kTwoCounts>},
      {"CudnnRNNParamsToCanonical", &CreateParamsToCanonical<kOneCount>},
      {"CudnnRNNParamsToCanonicalV2", &CreateParamsToCanonical<kTwoCounts>},
  };
}

}  // namespace tf_kernels
}  // namespace rnn_ops
