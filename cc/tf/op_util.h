// Conversions between TensorFlow and the core, for the ops and kernels of cc/tf.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>

#include "absl/status/status.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/core/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace rnn_ops::tf_kernels {

absl::Status ToTf(const Status& status);
Status FromTf(const absl::Status& status);

// ---- Shapes ----

PartialShape FromTf(const tensorflow::TensorShape& shape);
PartialShape FromTf(tensorflow::shape_inference::InferenceContext* c,
                    tensorflow::shape_inference::ShapeHandle shape);
tensorflow::shape_inference::ShapeHandle ToTf(tensorflow::shape_inference::InferenceContext* c,
                                              const PartialShape& shape);
// `shape` must be fully known.
absl::Status ToTf(const PartialShape& shape, tensorflow::TensorShape* result);

// ---- Attributes ----

// `Context`: OpKernelConstruction or InferenceContext. Checks every condition that needs no sizes.
template <typename Context>
absl::Status ReadRnnAttrs(Context* context, const AttrSet& has, RnnAttrs* attrs) {
  const auto get = [context](const char* name, auto* value) {
    return FromTf(context->GetAttr(name, value));
  };
  return ToTf(ReadAttrs(has, get, attrs));
}

// ---- Tensors ----

// Returns InvalidArgument for a type without kernels.
absl::Status ToDtype(tensorflow::DataType dtype, Dtype* result);

inline const void* Data(const tensorflow::Tensor& tensor) { return tensor.tensor_data().data(); }

// The element of a tensor of shape []. WHY not Tensor::scalar(): it aborts if the memory is not
// aligned, and slices and DLPack tensors need not be aligned.
template <typename V>
V ScalarOf(const tensorflow::Tensor& tensor) {
  V value;
  std::memcpy(&value, Data(tensor), sizeof(value));
  return value;
}

inline void* MutableData(tensorflow::Tensor* tensor) { return tensor->data(); }

// Sets all elements to zero. In every type of these ops zero has the all-zero bit pattern.
void SetZero(tensorflow::Tensor* tensor);

// Copies the elements. Both tensors must have the same type and number of elements.
void CopyElements(const tensorflow::Tensor& from, tensorflow::Tensor* to);

// The base class of all OpKernels of this library.

// If memory runs out, the op fails instead of the process. TensorFlow catches no exceptions.
class CheckedOpKernel : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) final {
    try {
      DoCompute(context);
    } catch (const std::bad_alloc&) {
      context->CtxFailure(absl::ResourceExhaustedError("No memory is left for small objects."));
    }
  }

 protected:
  // Does the work of Compute().
  virtual void DoCompute(tensorflow::OpKernelContext* context) = 0;
};

// The kernel of one op on a device.
template <typename DeviceKernel, const OpSpec& op>
class KernelOf : public DeviceKernel {
 public:
  explicit KernelOf(tensorflow::OpKernelConstruction* context) : DeviceKernel(context, op) {}
};

// Checks of the ops on the opaque parameter buffer, for shape functions and kernels.

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
  RNN_OPS_RETURN_IF_ERROR(ReadRnnAttrs(context, kPackCudnnRnnParams.attrs, &attrs));
  RnnSizeInputs sizes;
  RNN_OPS_RETURN_IF_ERROR(context->GetAttr("num_layers", &sizes.num_layers));
  RNN_OPS_RETURN_IF_ERROR(context->GetAttr("num_units", &sizes.num_units));
  RNN_OPS_RETURN_IF_ERROR(context->GetAttr("input_size", &sizes.input_size));
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
