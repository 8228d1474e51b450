#include "cc/tf/ops/shape_functions.h"

#include <cstdint>
#include <vector>

#include "cc/core/op/shapes.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/tensor.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::Tensor;
using ::tensorflow::shape_inference::InferenceContext;

namespace {

std::vector<PartialShape> InputShapes(InferenceContext* c) {
  std::vector<PartialShape> shapes;
  for (int k = 0; k < c->num_inputs(); ++k) shapes.push_back(FromTf(c, c->input(k)));
  return shapes;
}

void SetOutputs(InferenceContext* c, const CallShapes& shapes) {
  for (int k = 0; k < c->num_outputs(); ++k) c->set_output(k, ToTf(c, shapes.outputs[k]));
}

}  // namespace

absl::Status InferRnnOp(const OpSpec& op, InferenceContext* c) {
  RnnAttrs attrs;
  RNN_OPS_RETURN_IF_ERROR(ReadRnnAttrs(c, op.attrs, &attrs));
  CallShapes shapes;
  RNN_OPS_RETURN_IF_ERROR(ToTf(InferShapes(op, attrs, InputShapes(c), &shapes)));
  SetOutputs(c, shapes);
  const int index = op.Input(Arg::sequence_lengths);
  const Tensor* lengths = index == kAbsent ? nullptr : c->input_tensor(index);
  if (lengths == nullptr || shapes.dims.max_time == kUnknownDim) return absl::OkStatus();
  int64_t sum = 0;
  return ToTf(ValidateSequenceLengths(static_cast<const int32_t*>(Data(*lengths)),
                                      lengths->NumElements(), shapes.dims.max_time, &sum));
}

absl::Status InferBlockLstmOp(const OpSpec& op, InferenceContext* c) {
  std::vector<PartialShape> inputs = InputShapes(c);
  const int index = op.Input(Arg::seq_len_max);
  const Tensor* seq_len_max = c->input_tensor(index);
  // The value of a constant may be known even if its shape is not.
  if (seq_len_max != nullptr) inputs[index] = FromTf(seq_len_max->shape());
  CallShapes shapes;
  RNN_OPS_RETURN_IF_ERROR(ToTf(InferShapes(op, RnnAttrs(), inputs, &shapes)));
  SetOutputs(c, shapes);
  const RnnDims& dims = shapes.dims;
  const bool known = dims.max_time != kUnknownDim && dims.batch != kUnknownDim &&
                     dims.input_size != kUnknownDim && dims.num_units != kUnknownDim;
  if (seq_len_max == nullptr || !known) return absl::OkStatus();
  BlockLstmConfig config;
  return ToTf(MakeBlockLstmConfig(dims, ScalarOf<int64_t>(*seq_len_max), &config));
}

}  // namespace rnn_ops::tf_kernels
