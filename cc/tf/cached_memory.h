// Large tensors of the CPU kernels, in memory that is kept between calls.
#pragma once

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace rnn_ops::tf_kernels {

// Like context->allocate_temp and allocate_output, except that a large tensor on a CPU comes from
// ProcessBlockCache() if TensorFlow's allocator is malloc. The functions may be called for any
// device; on other devices TensorFlow allocates.
absl::Status AllocateLargeTemp(tensorflow::OpKernelContext* context, tensorflow::DataType dtype,
                               const tensorflow::TensorShape& shape, tensorflow::Tensor* tensor);
absl::Status AllocateLargeOutput(tensorflow::OpKernelContext* context, int index,
                                 const tensorflow::TensorShape& shape, tensorflow::Tensor** tensor);

}  // namespace rnn_ops::tf_kernels
