// What the ops that handle the opaque parameter buffer check, in shape functions and in kernels.
#ifndef TF_RNN_OPS_CC_TF_PARAMS_UTIL_H_
#define TF_RNN_OPS_CC_TF_PARAMS_UTIL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "cc/core/network/rnn_config.h"
#include "cc/core/network/shapes.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {

// Where the ops of the parameter buffer have their inputs.
struct RnnParamsInput {
  // Then params, or the weights followed by the biases.
  enum { kNumLayers, kNumUnits, kInputSize, kFirstTensor };
};

// The three sizes of a network, kUnknownDim where a shape function does not know one.
struct RnnSizeInputs {
  int64_t num_layers = kUnknownDim;
  int64_t num_units = kUnknownDim;
  int64_t input_size = kUnknownDim;
  bool known() const { return num_layers >= 0 && num_units >= 0 && input_size >= 0; }
};

// Refuses what no completion of the unknown sizes could make valid. With all sizes known, `config`
// is the problem; otherwise it is some smallest completion.
absl::Status MakeParamsConfig(const RnnAttrs& attrs, const RnnSizeInputs& sizes, RnnConfig* config);

// The network of PackCudnnRNNParams, whose attributes say all of it. `Context` as for ReadRnnAttrs.
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

// Reads one of the three sizes: a scalar of at least 1. `name` is for the message.
absl::Status ReadRnnSize(const char* name, const tensorflow::Tensor& tensor, int64_t* size);

// The sizes of a kernel call.
absl::Status ReadRnnSizes(tensorflow::OpKernelContext* context, RnnSizeInputs* sizes);

// How many tensors the canonical form has.
struct CanonicalCounts {
  int64_t weights = 0;
  int64_t biases = 0;
};
CanonicalCounts CountCanonical(const RnnConfig& config);
// InvalidArgument unless the op's lists have these lengths.
absl::Status CheckCanonicalCounts(const RnnConfig& config, const CanonicalCounts& given);

// InvalidArgument unless `shape` may be that of the opaque buffer.
absl::Status CheckParamsShape(const RnnConfig& config, const PartialShape& shape);

// InvalidArgument if `size` does not fit in the type of CudnnRNNParamsSize's output.
absl::Status CheckParamsSizeFits(int64_t size, bool narrow);

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_PARAMS_UTIL_H_
