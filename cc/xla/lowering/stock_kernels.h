// The kernels for XLA of TensorFlow's own CudnnRNN ops on a CPU.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/xla/lowering/custom_call.h"
#include "cc/xla/lowering/op_kernels.h"
#include "cc/xla/lowering/operands.h"

namespace rnn_ops::tf_kernels {

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
