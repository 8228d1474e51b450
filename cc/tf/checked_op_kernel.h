// The base class of all OpKernels of this library.
#pragma once

#include <new>

#include "absl/status/status.h"
#include "cc/core/op/op_spec.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {

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

}  // namespace rnn_ops::tf_kernels
