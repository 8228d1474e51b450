// Lowers an op to a call of its handler in cc/xla/handlers.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/cpu/call/op_run.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/tf/op_util.h"
#include "cc/xla/lowering/operands.h"
#include "cc/xla/lowering/padding.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tsl/platform/tensor_float_32_utils.h"

namespace rnn_ops::tf_kernels {

// The sizes of reserve spaces, which a computation must know before it runs.

// Where a computation runs. The handler rejects a size that is too small for the GPU that runs it.
struct ProgramPlace {
  bool gpu = false;
  int device = 0;  // the ordinal of the GPU; -1 if XLA does not say it
};

// The length of the reserve space that a forward op returns in training, for any lengths.
inline absl::Status ReserveSize(const NodeDef& node, InferenceContext* c, tensorflow::DataType type,
                                const ProgramPlace& place, int64_t* elements) {
  const OpSpec& op = SpecOf(node.op());
  RnnAttrs attrs;
  CallShapes shapes;
  Dtype dtype;
  RNN_OPS_RETURN_IF_ERROR(ReadRnnAttrs(c, op.attrs, &attrs));
  RNN_OPS_RETURN_IF_ERROR(ToDtype(type, &dtype));
  std::vector<PartialShape> inputs;
  for (int k = 0; k < c->num_inputs(); ++k) inputs.push_back(FromTf(c, c->input(k)));
  RNN_OPS_RETURN_IF_ERROR(ToTf(InferShapes(op, attrs, inputs, &shapes)));
  const int norms = op.Input(Arg::layer_norm);
  const bool has_layer_norm = norms != kAbsent && !IsAbsent(inputs[norms]);
  int64_t bytes = 0;
  if (place.gpu && op.family == OpFamily::kLayerRnn) {
    gpu::LayerProblem problem;
    static_cast<RnnConfig&>(problem) = shapes.config;
    problem.dtype = dtype;
    problem.has_layer_norm = has_layer_norm;
    bytes = gpu::LayerReserveBytes(problem);
  } else if (place.gpu) {
    gpu::StackProblem problem;
    static_cast<RnnConfig&>(problem) = shapes.config;
    problem.dtype = dtype;
    problem.allow_tf32 = tsl::tensor_float_32_execution_enabled();  // as the handler will
    RNN_OPS_RETURN_IF_ERROR(ToTf(gpu::RnnReserveBytes(problem, place.device, &bytes)));
  } else {
    cpu::RnnProblem problem = cpu::MakeRnnProblem(shapes.config, dtype);
    problem.has_layer_norm = has_layer_norm;
    bytes = cpu::LongestReserveBytes(problem);
  }
  *elements = ReserveElements(bytes, SizeOf(dtype));
  if (*elements >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError("reserve_space would need more than 2^62 bytes.");
}

// Each compiled call has its own number, see cc/xla/handlers/handlers.h.
inline int64_t NextCallSite() {
  static std::atomic<int64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

inline xla::Shape RowMajor(xla::PrimitiveType type, absl::Span<const int64_t> dims) {
  return xla::ShapeUtil::MakeShapeWithDescendingLayout(type, dims);
}

// Additional attributes of the handlers for GPUs (cc/xla/handlers/gpu_handlers.h).
inline std::string GpuAttributes(XlaOpKernelContext* context, const OpSpec& op,
                                 const std::vector<XlaTensor>& operands) {
  std::string text =
      StrCat(", allow_tf32 = ", tsl::tensor_float_32_execution_enabled() ? "true" : "false");
  if (op.family == OpFamily::kLayerRnn) return text;
  const bool block_lstm = IsBlockLstm(op);
  const int index = op.Input(block_lstm ? Arg::seq_len_max : Arg::sequence_lengths);
  const tensorflow::DataType type = block_lstm ? tensorflow::DT_INT64 : tensorflow::DT_INT32;
  const auto known = tensorflow::XlaExpression::XlaOp(operands[index].op, type)
                         .ResolveConstant(context->compiler()->client());
  if (!known.ok() || !known->has_value()) return text;
  const Tensor& values = **known;
  text += block_lstm ? ", seq_len_max = array<i64" : ", sequence_lengths = array<i32";
  for (int64_t k = 0; k < values.NumElements(); ++k) {
    text += k == 0 ? ": " : ", ";
    text += block_lstm ? StrCat(values.flat<int64_t>()(k)) : StrCat(values.flat<int32_t>()(k));
  }
  return text + ">";
}

// The results of the handler with the name of an op, as a tuple.
// WHY the layouts: without them XLA for GPUs may let a transposition next to the call change them,
// and the handlers read and write row-major tensors only.
inline XlaOp CallHandler(const std::string& name, XlaOpKernelContext* context,
                         const std::vector<XlaTensor>& operands,
                         const std::vector<xla::Shape>& results, const std::string& attributes,
                         bool has_side_effect) {
  std::vector<XlaOp> inputs;
  std::vector<xla::Shape> shapes;
  for (const XlaTensor& operand : operands) {
    inputs.push_back(operand.op);
    shapes.push_back(RowMajor(operand.shape.element_type(), operand.shape.dimensions()));
  }
  return xla::CustomCallWithLayout(
      context->builder(), name, inputs, xla::ShapeUtil::MakeTupleShape(results), shapes, attributes,
      has_side_effect, /*output_operand_aliasing=*/{}, /*literal=*/nullptr,
      xla::CustomCallSchedule::SCHEDULE_NONE, xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
}

// The shapes of the results. A reserve space gets its size.
inline absl::Status ResultShapes(const NodeDef& node, Inferred* inferred, const ProgramPlace& place,
                                 std::vector<xla::Shape>* shapes) {
  for (int k = 0; k < inferred->context()->num_outputs(); ++k) {
    tensorflow::DataType type;
    RNN_OPS_RETURN_IF_ERROR(tensorflow::OutputTypeForNode(node, inferred->op_def(), k, &type));
    PartialShape shape = inferred->output(k);
    if (shape.dims == std::vector<int64_t>{kUnknownDim}) {
      RNN_OPS_RETURN_IF_ERROR(ReserveSize(node, inferred->context(), type, place, &shape.dims[0]));
    }
    xla::PrimitiveType xla_type;
    RNN_OPS_RETURN_IF_ERROR(tensorflow::DataTypeToPrimitiveType(type, &xla_type));
    shapes->push_back(RowMajor(xla_type, shape.dims));
  }
  return absl::OkStatus();
}

// Whether two calls with equal inputs have different results, because each draws masks.
inline bool DrawsMasks(const NodeDef& node) {
  float dropout = 0;
  bool is_training = false;
  return node.op() == kForward && tensorflow::TryGetNodeAttr(node, "dropout", &dropout) &&
         dropout > 0 && tensorflow::TryGetNodeAttr(node, "is_training", &is_training) &&
         is_training;
}

// Calls the handler of node.op(), which must be an op of this library.
inline absl::Status Lower(const NodeDef& node, XlaOpKernelContext* context, bool on_gpu,
                          std::vector<XlaTensor> operands, std::vector<XlaOp>* results) {
  ProgramPlace place;
  place.gpu = on_gpu;
  place.device = context->compiler()->options().device_ordinal;
  const OpSpec& op = SpecOf(node.op());
  std::string name = "lstm";
  RnnMode mode = RnnMode::kLstm;
  tensorflow::TryGetNodeAttr(node, "rnn_mode", &name);
  RNN_OPS_RETURN_IF_ERROR(ToTf(ParseRnnMode(name, &mode)));
  bool time_major = true;
  if (op.attrs.time_major && !IsBlockLstm(op)) {
    RNN_OPS_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node, "time_major", &time_major));
  }
  Padding padding(op, FactsOf(mode).has_c, time_major);
  RNN_OPS_RETURN_IF_ERROR(padding.Remove(&operands));
  Inferred inferred;
  RNN_OPS_RETURN_IF_ERROR(inferred.Run(node, operands, {}));
  padding.Neutralize(&operands);
  std::vector<xla::Shape> shapes;
  RNN_OPS_RETURN_IF_ERROR(ResultShapes(node, &inferred, place, &shapes));

  const bool draws = DrawsMasks(node);
  const std::string more = on_gpu ? GpuAttributes(context, op, operands) : "";
  const XlaOp tuple =
      CallHandler(node.op(), context, operands, shapes,
                  AttributeText(node, inferred.op_def(), draws ? NextCallSite() : 0, more), draws);
  for (int k = 0; k < static_cast<int>(shapes.size()); ++k) {
    results->push_back(padding.Restore(xla::GetTupleElement(tuple, k), op.output(k), shapes[k]));
  }
  return absl::OkStatus();
}

}  // namespace rnn_ops::tf_kernels
