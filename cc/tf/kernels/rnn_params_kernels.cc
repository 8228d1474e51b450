#include "cc/tf/kernels/rnn_params_kernels.h"

#include <cstring>
#include <vector>

#include "cc/core/op/param_layout.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/types.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

namespace {

AttrSet NetworkAttrs(bool has_num_proj) {
  AttrSet attrs;
  attrs.num_proj = has_num_proj;
  attrs.is_training = AttrSet::kNever;
  attrs.time_major = false;
  return attrs;
}

absl::Status ReadCanonicalAttrs(OpKernelConstruction* context, CanonicalAttrs version,
                                RnnAttrs* attrs, CanonicalCounts* counts) {
  const bool v2 = version == CanonicalAttrs::kNumWeightsAndNumBiases;
  RNN_OPS_RETURN_IF_ERROR(ReadRnnAttrs(context, NetworkAttrs(/*has_num_proj=*/v2), attrs));
  RNN_OPS_RETURN_IF_ERROR(
      context->GetAttr(v2 ? "num_params_weights" : "num_params", &counts->weights));
  return context->GetAttr(v2 ? "num_params_biases" : "num_params", &counts->biases);
}

// Reads the problem of a call. Checks the counts first, because the layout needs memory for its
// blocks.
absl::Status ReadProblem(OpKernelContext* context, const RnnAttrs& attrs,
                         const CanonicalCounts& counts, RnnConfig* config) {
  RnnSizeInputs sizes;
  RNN_OPS_RETURN_IF_ERROR(ReadRnnSizes(context, &sizes));
  RNN_OPS_RETURN_IF_ERROR(MakeParamsConfig(attrs, sizes, config));
  return CheckCanonicalCounts(*config, counts);
}

absl::Status CheckElements(const char* list, size_t index, const Tensor& tensor,
                           const ParamBlock& block) {
  if (tensor.NumElements() == block.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(list, "[", index, "] must have ", block.size(),
                                           " elements, but its shape is ",
                                           tensor.shape().DebugString(), "."));
}

absl::Status CopyIn(OpKernelContext* context, CopyBytes copy, int input_index,
                    const ParamBlock& block, Tensor* params) {
  if (block.size() == 0) return absl::OkStatus();
  const int64_t element = tensorflow::DataTypeSize(params->dtype());
  return copy(context, static_cast<char*>(params->data()) + block.offset * element,
              Data(context->input(input_index)), block.size() * element);
}

absl::Status CopyOut(OpKernelContext* context, CopyBytes copy, int output_index,
                     const ParamBlock& block, const TensorShape& shape) {
  Tensor* output = nullptr;
  RNN_OPS_RETURN_IF_ERROR(context->allocate_output(output_index, shape, &output));
  if (block.size() == 0) return absl::OkStatus();
  const Tensor& params = context->input(RnnParamsInput::kFirstTensor);
  const int64_t element = tensorflow::DataTypeSize(params.dtype());
  return copy(context, output->data(),
              static_cast<const char*>(Data(params)) + block.offset * element,
              block.size() * element);
}

absl::Status CanonicalToParams(OpKernelContext* context, CopyBytes copy, const RnnAttrs& attrs,
                               const CanonicalCounts& counts) {
  RnnConfig config;
  RNN_OPS_RETURN_IF_ERROR(ReadProblem(context, attrs, counts, &config));
  const ParamLayout layout(config);
  const std::vector<ParamBlock> weights = layout.CanonicalWeights();
  const std::vector<ParamBlock> biases = layout.CanonicalBiases();
  const int first_weight = RnnParamsInput::kFirstTensor;
  const int first_bias = first_weight + static_cast<int>(weights.size());
  for (size_t k = 0; k < weights.size(); ++k) {
    RNN_OPS_RETURN_IF_ERROR(
        CheckElements("weights", k, context->input(first_weight + k), weights[k]));
  }
  for (size_t k = 0; k < biases.size(); ++k) {
    RNN_OPS_RETURN_IF_ERROR(CheckElements("biases", k, context->input(first_bias + k), biases[k]));
  }
  Tensor* params = nullptr;
  RNN_OPS_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({layout.size()}), &params));
  for (size_t k = 0; k < weights.size(); ++k) {
    RNN_OPS_RETURN_IF_ERROR(CopyIn(context, copy, first_weight + k, weights[k], params));
  }
  for (size_t k = 0; k < biases.size(); ++k) {
    RNN_OPS_RETURN_IF_ERROR(CopyIn(context, copy, first_bias + k, biases[k], params));
  }
  return absl::OkStatus();
}

absl::Status ParamsToCanonical(OpKernelContext* context, CopyBytes copy, const RnnAttrs& attrs,
                               const CanonicalCounts& counts) {
  RnnConfig config;
  RNN_OPS_RETURN_IF_ERROR(ReadProblem(context, attrs, counts, &config));
  const Tensor& params = context->input(RnnParamsInput::kFirstTensor);
  RNN_OPS_RETURN_IF_ERROR(CheckParamsShape(config, FromTf(params.shape())));
  const ParamLayout layout(config);
  int next = 0;
  for (const ParamBlock& block : layout.CanonicalWeights()) {
    RNN_OPS_RETURN_IF_ERROR(
        CopyOut(context, copy, next++, block, TensorShape({block.rows, block.cols})));
  }
  for (const ParamBlock& block : layout.CanonicalBiases()) {
    RNN_OPS_RETURN_IF_ERROR(CopyOut(context, copy, next++, block, TensorShape({block.rows})));
  }
  return absl::OkStatus();
}

}  // namespace

RnnParamsSizeKernel::RnnParamsSizeKernel(OpKernelConstruction* context, bool has_num_proj)
    : CheckedOpKernel(context) {
  OP_REQUIRES_OK(context, ReadRnnAttrs(context, NetworkAttrs(has_num_proj), &attrs_));
}

void RnnParamsSizeKernel::DoCompute(OpKernelContext* context) {
  RnnSizeInputs sizes;
  OP_REQUIRES_OK(context, ReadRnnSizes(context, &sizes));
  RnnConfig config;
  OP_REQUIRES_OK(context, MakeParamsConfig(attrs_, sizes, &config));
  const int64_t size = ParamsSize(config);
  const bool is_int32 = context->expected_output_dtype(0) == tensorflow::DT_INT32;
  OP_REQUIRES_OK(context, CheckParamsSizeFits(size, is_int32));
  Tensor* output = nullptr;
  OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({1}), &output));
  if (is_int32) {
    output->vec<int32_t>()(0) = static_cast<int32_t>(size);
  } else {
    output->vec<int64_t>()(0) = size;
  }
}

absl::Status CopyBytesOnCpu(OpKernelContext* /*context*/, void* to, const void* from,
                            int64_t bytes) {
  std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

RnnCanonicalToParamsKernel::RnnCanonicalToParamsKernel(OpKernelConstruction* context,
                                                       CanonicalAttrs version, CopyBytes copy)
    : CheckedOpKernel(context), copy_(copy) {
  OP_REQUIRES_OK(context, ReadCanonicalAttrs(context, version, &attrs_, &counts_));
}

void RnnCanonicalToParamsKernel::DoCompute(OpKernelContext* context) {
  OP_REQUIRES_OK(context, CanonicalToParams(context, copy_, attrs_, counts_));
}

RnnParamsToCanonicalKernel::RnnParamsToCanonicalKernel(OpKernelConstruction* context,
                                                       CanonicalAttrs version, CopyBytes copy)
    : CheckedOpKernel(context), copy_(copy) {
  OP_REQUIRES_OK(context, ReadCanonicalAttrs(context, version, &attrs_, &counts_));
}

void RnnParamsToCanonicalKernel::DoCompute(OpKernelContext* context) {
  OP_REQUIRES_OK(context, ParamsToCanonical(context, copy_, attrs_, counts_));
}

}  // namespace rnn_ops::tf_kernels
