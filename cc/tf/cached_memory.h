// Large tensors of the CPU kernels, in memory that is kept between calls.
#ifndef TF_RNN_OPS_CC_TF_CACHED_MEMORY_H_
#define TF_RNN_OPS_CC_TF_CACHED_MEMORY_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace rnn_ops {
namespace tf_kernels {

// Like context->allocate_temp and allocate_output, except that a large tensor on a CPU comes from
// ProcessBlockCache() if TensorFlow's allocator is malloc. The functions may be called for any
// device; on other devices TensorFlow allocates.
absl::Status AllocateLargeTemp(tensorflow::OpKernelContext* context, tensorflow::DataType dtype,
                               const tensorflow::TensorShape& shape, tensorflow::Tensor* tensor);
absl::Status AllocateLargeOutput(tensorflow::OpKernelContext* context, int index,
                                 const tensorflow::TensorShape& shape, tensorflow::Tensor** tensor);

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_CACHED_MEMORY_H_
