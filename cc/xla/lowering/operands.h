// The inputs of an op under XLA, and the tables of this library's ops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/shapes.h"
#include "cc/tf/op_util.h"
#include "cc/xla/handlers/handlers.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/public/version.h"
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

// The registration of an op: its shape function and its attributes.

using ::tensorflow::NodeDef;
using ::tensorflow::Tensor;
using ::tensorflow::shape_inference::InferenceContext;

// A node, the shapes of its inputs, and the results of its shape function.
class Inferred {
 public:
  // `constants`: the values of the first inputs.
  absl::Status Run(const NodeDef& node, const std::vector<XlaTensor>& operands,
                   const std::vector<Tensor>& constants) {
    const tensorflow::OpRegistrationData* op = nullptr;
    RNN_OPS_RETURN_IF_ERROR(tensorflow::OpRegistry::Global()->LookUp(node.op(), &op));
    op_def_ = &op->op_def;
    std::vector<PartialTensorShape> shapes;
    for (const XlaTensor& operand : operands) shapes.push_back(ToTf(operand.shape));
    std::vector<const Tensor*> tensors(operands.size(), nullptr);
    for (size_t k = 0; k < constants.size(); ++k) tensors[k] = &constants[k];
    context_ = std::make_unique<InferenceContext>(
        TF_GRAPH_DEF_VERSION, tensorflow::AttrSlice(node), *op_def_, shapes, tensors,
        std::vector<PartialTensorShape>(), std::vector<std::unique_ptr<Handles>>());
    RNN_OPS_RETURN_IF_ERROR(context_->construction_status());
    return op->shape_inference_fn(context_.get());
  }

  const tensorflow::OpDef& op_def() const { return *op_def_; }
  InferenceContext* context() const { return context_.get(); }
  PartialShape output(int index) const { return FromTf(context(), context()->output(index)); }

 private:
  using Handles = std::vector<std::pair<PartialTensorShape, tensorflow::DataType>>;
  const tensorflow::OpDef* op_def_ = nullptr;
  std::unique_ptr<InferenceContext> context_;
};

// The attributes of a node, except its types, as the text of an MLIR dictionary. XLA passes them to
// the handler. The result also has the attribute `call_site` and the attributes in `more`.
inline std::string AttributeText(const NodeDef& node, const tensorflow::OpDef& op_def,
                                 int64_t call_site, const std::string& more) {
  std::string text = StrCat("{call_site = ", call_site, " : i64");
  const tensorflow::AttrSlice attrs(node);
  for (const auto& declared : op_def.attr()) {
    const tensorflow::AttrValue* value = attrs.Find(declared.name());
    if (value == nullptr || declared.type() == "type") continue;
    text += StrCat(", ", declared.name(), " = ");
    if (declared.type() == "bool") {
      text += value->b() ? "true" : "false";
    } else if (declared.type() == "int") {
      text += StrCat(value->i(), " : i64");
    } else if (declared.type() == "float") {
      // As bits, so that the value is exact.
      uint32_t bits;
      const float number = value->f();
      std::memcpy(&bits, &number, sizeof(bits));
      char hex[11];
      std::snprintf(hex, sizeof(hex), "0x%08X", bits);
      text += StrCat(hex, " : f32");
    } else {
      text += StrCat("\"", value->s(), "\"");
    }
  }
  return text + more + "}";
}

}  // namespace rnn_ops::tf_kernels
