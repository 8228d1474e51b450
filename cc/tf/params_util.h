// Checks of the ops on the opaque parameter buffer, for shape functions and kernels.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {

// The positions of the inputs of these ops.
struct RnnParamsInput {
  // kFirstTensor: params, or the weights followed by the biases.
  enum { kNumLayers, kNumUnits, kInputSize, kFirstTensor };
};

// The three sizes of a network; kUnknownDim if a shape function does not know a size.
struct RnnSizeInputs {
  int64_t num_layers = kUnknownDim;
  int64_t num_units = kUnknownDim;
  int64_t input_size = kUnknownDim;
  bool known() const { return num_layers >= 0 && num_units >= 0 && input_size >= 0; }
};

// Returns InvalidArgument if the sizes are invalid for every value of the unknown sizes. If all
// sizes are known, `config` is the problem. Otherwise `config` has the smallest possible values.
absl::Status MakeParamsConfig(const RnnAttrs& attrs, const RnnSizeInputs& sizes, RnnConfig* config);

// Reads the network of PackCudnnRNNParams from its attributes. `Context`: see ReadRnnAttrs.
template <typename Context>
absl::Status ReadPackAttrs(Context* context, RnnConfig* config) {
  RnnAttrs attrs;
  RNN_OPS_TF_RETURN_IF_ERROR(ReadRnnAttrs(context, kPackCudnnRnnParams.attrs, &attrs));
  RnnSizeInputs sizes;
  RNN_OPS_TF_RETURN_IF_ERROR(context->GetAttr("num_layers", &sizes.num_layers));
  RNN_OPS_TF_RETURN_IF_ERROR(context->GetAttr("num_units", &sizes.num_units));
  RNN_OPS_TF_RETURN_IF_ERROR(context->GetAttr("input_size", &sizes.input_size));
  if (!sizes.known()) {
    return absl::InvalidArgumentError(
        StrCat("num_layers, num_units and input_size must be at least 1, but they are ",
               sizes.num_layers, ", ", sizes.num_units, " and ", sizes.input_size, "."));
  }
  return MakeParamsConfig(attrs, sizes, config);
}

// Reads one of the three sizes: a scalar of at least 1. `name`: for the error message.
absl::Status ReadRnnSize(const char* name, const tensorflow::Tensor& tensor, int64_t* size);

// Reads the sizes of a kernel call.
absl::Status ReadRnnSizes(tensorflow::OpKernelContext* context, RnnSizeInputs* sizes);

// The numbers of tensors of the canonical form.
struct CanonicalCounts {
  int64_t weights = 0;
  int64_t biases = 0;
};
CanonicalCounts CountCanonical(const RnnConfig& config);
// Returns InvalidArgument unless the op's lists have these lengths.
absl::Status CheckCanonicalCounts(const RnnConfig& config, const CanonicalCounts& given);

// Returns InvalidArgument unless `shape` may be the shape of the opaque buffer.
absl::Status CheckParamsShape(const RnnConfig& config, const PartialShape& shape);

// Returns InvalidArgument if `size` does not fit the type of CudnnRNNParamsSize's output.
absl::Status CheckParamsSizeFits(int64_t size, bool is_int32);

}  // namespace rnn_ops::tf_kernels
