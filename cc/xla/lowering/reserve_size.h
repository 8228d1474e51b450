// The sizes of reserve spaces, which a computation must know before it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/shapes.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/tf/op_util.h"
#include "cc/tf/params_util.h"
#include "cc/tf/reserve_maker.h"
#include "cc/xla/lowering/inferred.h"
#include "cc/xla/lowering/operands.h"
#include "tsl/platform/tensor_float_32_utils.h"

namespace rnn_ops::tf_kernels {

// Where a computation runs. The handler rejects a size that is too small for the GPU that runs it.
struct ProgramPlace {
  bool gpu = false;
  int device = 0;  // the ordinal of the GPU; -1 if XLA does not say it
};

// Gets the properties of a node that determine the size of its reserve space. Apart from attributes
// and sizes, only layer_norm affects the size.
inline absl::Status ReserveCall(const NodeDef& node, InferenceContext* c, tensorflow::DataType type,
                                LayerReserveCall* call) {
  const OpSpec& op = SpecOf(node.op());
  RnnAttrs attrs;
  CallShapes shapes;
  RNN_OPS_TF_RETURN_IF_ERROR(ReadRnnAttrs(c, op.attrs, &attrs));
  std::vector<PartialShape> inputs;
  for (int k = 0; k < c->num_inputs(); ++k) inputs.push_back(FromTf(c, c->input(k)));
  RNN_OPS_TF_RETURN_IF_ERROR(tf_kernels::ToTf(InferShapes(op, attrs, inputs, &shapes)));
  call->config = shapes.config;
  const int norms = op.Input(Arg::layer_norm);
  call->has_layer_norm = norms != kAbsent && !IsAbsent(inputs[norms]);
  return ToDtype(type, &call->dtype);
}

// The length of the reserve space that a forward op returns in training, for any lengths.
inline absl::Status ReserveSize(const NodeDef& node, InferenceContext* c, tensorflow::DataType type,
                                const ProgramPlace& place, int64_t* elements) {
  LayerReserveCall call;
  RNN_OPS_TF_RETURN_IF_ERROR(ReserveCall(node, c, type, &call));
  if (place.gpu && SpecOf(node.op()).family != OpFamily::kLayerRnn) {
    gpu::StackProblem problem;
    static_cast<RnnConfig&>(problem) = call.config;
    problem.dtype = call.dtype;
    problem.allow_tf32 = tsl::tensor_float_32_execution_enabled();  // as the handler will
    int64_t bytes = 0;
    RNN_OPS_TF_RETURN_IF_ERROR(
        tf_kernels::ToTf(gpu::RnnReserveBytes(problem, place.device, &bytes)));
    *elements = ReserveElements(bytes, SizeOf(call.dtype));
    return absl::OkStatus();
  }
  // On a CPU the reserve space of a stack has the size of the same function.
  *elements = LayerReserveElements(call, place.gpu ? DeviceKind::kGpu : DeviceKind::kCpu);
  if (*elements >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError("reserve_space would need more than 2^62 bytes.");
}

// Rejects the reserve space of another kind of device. WHY not if its size is dynamic: the branches
// of a condition have reserve spaces of different sizes, and the handler checks the size.
inline absl::Status CheckMaker(const NodeDef& node, const std::vector<XlaTensor>& operands,
                               bool on_gpu) {
  const OpSpec& op = SpecOf(node.op());
  if (&op != &kLayerRnnBackprop) return absl::OkStatus();
  const xla::Shape& shape = operands[op.Input(Arg::reserve_space)].shape;
  if (!shape.is_static()) return absl::OkStatus();
  Inferred inferred;
  RNN_OPS_TF_RETURN_IF_ERROR(inferred.Run(node, operands, {}));
  tensorflow::DataType type;
  RNN_OPS_TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node, "T", &type));
  LayerReserveCall call;
  RNN_OPS_TF_RETURN_IF_ERROR(ReserveCall(node, inferred.context(), type, &call));
  return tf_kernels::ToTf(
      CheckReserveMaker(call, on_gpu ? DeviceKind::kGpu : DeviceKind::kCpu,
                        PartialShape::Of({shape.dimensions().begin(), shape.dimensions().end()})));
}

}  // namespace rnn_ops::tf_kernels
