// The kernels for XLA of this library's ops with handlers.
#pragma once

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/xla/lowering/custom_call.h"
#include "cc/xla/lowering/operands.h"
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

// The kernels for XLA of TensorFlow's own CudnnRNN ops on a CPU.

// A node of this library's op with the attributes of a node of TensorFlow's op. The first versions
// of TensorFlow's op lack some attributes, which get their defaults.
inline NodeDef AsOurs(const NodeDef& stock, const char* op) {
  NodeDef ours = stock;
  ours.set_op(op);
  if (ours.attr().count("num_proj") == 0) (*ours.mutable_attr())["num_proj"].set_i(0);
  if (ours.attr().count("time_major") == 0) (*ours.mutable_attr())["time_major"].set_b(true);
  return ours;
}

// sequence_lengths for the first versions, which have no such input: [B], all T, for a time-major
// input.
inline XlaTensor FullLengths(XlaBuilder* builder, const XlaTensor& input) {
  const bool known = input.shape.dimensions().size() == 3;  // else the shape function fails
  const XlaOp time = known ? xla::GetDimensionSize(input.op, 0) : Scalar(builder, 0);
  const int64_t batch = known ? input.shape.dimensions(1) : 0;
  return {xla::Broadcast(time, {batch}), xla::ShapeUtil::MakeShape(xla::S32, {batch})};
}

class StockForwardKernel : public CheckedXlaKernel {
 public:
  explicit StockForwardKernel(OpKernelConstruction* context) : CheckedXlaKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("is_training", &is_training_));
  }

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<XlaTensor> operands;
    std::vector<XlaOp> results;
    OP_REQUIRES_OK(context, ReadInputs(context, &operands));
    if (context->num_inputs() == kCudnnRnnV3.Input(Arg::sequence_lengths)) {
      operands.push_back(FullLengths(context->builder(), operands[0]));
    }
    OP_REQUIRES_OK(context, Lower(AsOurs(def(), kForward), context, /*on_gpu=*/false,
                                  std::move(operands), &results));
    // TensorFlow's V2 passes the number of cuDNN's algorithm and its math mode to the gradient op.
    if (def().op() == "CudnnRNNV2" && is_training_) {
      results.back() = xla::ConstantR1<int8_t>(context->builder(), 2, 0);
    }
    for (int k = 0; k < context->num_outputs(); ++k) context->SetOutput(k, results[k]);
  }

 private:
  bool is_training_ = false;
};

class StockBackpropKernel : public CheckedXlaKernel {
 public:
  explicit StockBackpropKernel(OpKernelConstruction* context) : CheckedXlaKernel(context) {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<XlaTensor> operands;
    std::vector<XlaOp> results;
    OP_REQUIRES_OK(context, ReadInputs(context, &operands));
    if (def().op() != "CudnnRNNBackpropV3") {
      operands.insert(operands.begin() + kCudnnRnnBackpropV3.Input(Arg::sequence_lengths),
                      FullLengths(context->builder(), operands[0]));
    }
    operands.resize(kCudnnRnnBackpropV3.Input(Arg::host_reserved));
    operands.push_back(
        {xla::ConstantR0<int8_t>(context->builder(), 0), xla::ShapeUtil::MakeShape(xla::S8, {})});
    OP_REQUIRES_OK(context, Lower(AsOurs(def(), kBackprop), context, /*on_gpu=*/false,
                                  std::move(operands), &results));
    for (int k = 0; k < context->num_outputs(); ++k) context->SetOutput(k, results[k]);
  }
};

}  // namespace rnn_ops::tf_kernels
