// Conversions between TensorFlow and the core, for the ops and kernels of cc/tf.
#pragma once

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/op_spec.h"
#include "cc/core/op/read_attrs.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/core/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"

#define RNN_OPS_TF_RETURN_IF_ERROR(expr)                     \
  do {                                                       \
    absl::Status rnn_ops_tf_status_ = (expr);                \
    if (!rnn_ops_tf_status_.ok()) return rnn_ops_tf_status_; \
  } while (false)

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

}  // namespace rnn_ops::tf_kernels
