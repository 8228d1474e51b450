// The inputs of an op under XLA, and the tables of this library's ops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/tf/op_util.h"
#include "cc/xla/handlers/handlers.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "xla/hlo/builder/xla_builder.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::PartialTensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaBuilder;
using ::xla::XlaOp;

constexpr char kXlaCpu[] = "XLA_CPU_JIT";
constexpr char kXlaGpu[] = "XLA_GPU_JIT";
constexpr char kForward[] = "TfRnnOps>CudnnRNNV3";
constexpr char kBackprop[] = "TfRnnOps>CudnnRNNBackpropV3";

struct XlaTensor {
  XlaOp op;
  xla::Shape shape;
};

inline absl::Status ReadInputs(XlaOpKernelContext* context, std::vector<XlaTensor>* operands) {
  for (int k = 0; k < context->num_inputs(); ++k) {
    const absl::StatusOr<xla::Shape> shape = context->InputXlaShape(k);
    if (!shape.ok()) return shape.status();
    operands->push_back({context->Input(k), *shape});
  }
  return absl::OkStatus();
}

inline PartialTensorShape ToTf(const xla::Shape& shape) {
  return PartialTensorShape(shape.dimensions());
}

inline XlaOp Scalar(XlaBuilder* builder, int32_t value) {
  return xla::ConstantR0<int32_t>(builder, value);
}

// The table of one of this library's ops.
inline const OpSpec& SpecOf(const std::string& op) {
  const auto is_it = [&op](const ffi::Handler& handler) { return op == handler.op; };
  return *std::find_if(std::begin(ffi::kHandlers), std::end(ffi::kHandlers), is_it)->spec;
}

inline bool IsBlockLstm(const OpSpec& op) { return op.family == OpFamily::kBlockLstm; }

}  // namespace rnn_ops::tf_kernels
