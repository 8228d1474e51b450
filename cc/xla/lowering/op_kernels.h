// The kernels for XLA of this library's ops with handlers.
#pragma once

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "cc/xla/lowering/custom_call.h"
#include "cc/xla/lowering/inferred.h"
#include "cc/xla/lowering/operands.h"
#include "cc/xla/lowering/reserve_size.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernel;

// If memory runs out, the compilation fails instead of the process.
class CheckedXlaKernel : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) final {
    try {
      DoCompile(context);
    } catch (const std::bad_alloc&) {
      context->CtxFailure(absl::ResourceExhaustedError("No memory is left for small objects."));
    }
  }

 protected:
  // Does the work of Compile().
  virtual void DoCompile(XlaOpKernelContext* context) = 0;
};

class CustomCallKernel : public CheckedXlaKernel {
 public:
  explicit CustomCallKernel(OpKernelConstruction* context)
      : CheckedXlaKernel(context), on_gpu_(context->device_type() == kXlaGpu) {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<XlaTensor> operands;
    std::vector<XlaOp> results;
    OP_REQUIRES_OK(context, ReadInputs(context, &operands));
    OP_REQUIRES_OK(context, CheckMaker(def(), operands, on_gpu_));
    OP_REQUIRES_OK(context, Lower(def(), context, on_gpu_, std::move(operands), &results));
    for (size_t k = 0; k < results.size(); ++k) {
      context->SetOutput(static_cast<int>(k), results[k]);
    }
  }

 private:
  const bool on_gpu_;
};

// PackLayerRNN and PackCudnnRNNParams: return [0], so that the ops with packed weights read the
// unpacked weights. WHY: weights that are packed inside a computation cannot be kept for the next
// call.
class PackNothingXlaKernel : public CheckedXlaKernel {
 public:
  explicit PackNothingXlaKernel(OpKernelConstruction* context) : CheckedXlaKernel(context) {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<XlaTensor> operands;
    OP_REQUIRES_OK(context, ReadInputs(context, &operands));
    Inferred inferred;  // checks the shapes
    OP_REQUIRES_OK(context, inferred.Run(def(), operands, {}));
    context->SetOutput(0, xla::ConstantR1<uint8_t>(context->builder(), 0, 0));
  }
};

}  // namespace rnn_ops::tf_kernels
