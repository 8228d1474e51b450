// The registration of an op: its shape function and its attributes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/op/shapes.h"
#include "cc/tf/op_util.h"
#include "cc/xla/lowering/operands.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/public/version.h"

namespace rnn_ops::tf_kernels {

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
    RNN_OPS_TF_RETURN_IF_ERROR(tensorflow::OpRegistry::Global()->LookUp(node.op(), &op));
    op_def_ = &op->op_def;
    std::vector<PartialTensorShape> shapes;
    for (const XlaTensor& operand : operands) shapes.push_back(ToTf(operand.shape));
    std::vector<const Tensor*> tensors(operands.size(), nullptr);
    for (size_t k = 0; k < constants.size(); ++k) tensors[k] = &constants[k];
    context_ = std::make_unique<InferenceContext>(
        TF_GRAPH_DEF_VERSION, tensorflow::AttrSlice(node), *op_def_, shapes, tensors,
        std::vector<PartialTensorShape>(), std::vector<std::unique_ptr<Handles>>());
    RNN_OPS_TF_RETURN_IF_ERROR(context_->construction_status());
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
