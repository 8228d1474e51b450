// The shape functions of the RNN ops, generated from the tables of the ops.
#pragma once

#include "absl/status/status.h"
#include "cc/core/op/op_spec.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace rnn_ops::tf_kernels {

// The functions check everything that is known when the graph is built, including values of
// constants.
absl::Status InferRnnOp(const OpSpec& op, tensorflow::shape_inference::InferenceContext* c);
absl::Status InferBlockLstmOp(const OpSpec& op, tensorflow::shape_inference::InferenceContext* c);

template <const OpSpec& op>
absl::Status RnnShape(tensorflow::shape_inference::InferenceContext* c) {
  return InferRnnOp(op, c);
}

template <const OpSpec& op>
absl::Status BlockLstmShape(tensorflow::shape_inference::InferenceContext* c) {
  return InferBlockLstmOp(op, c);
}

}  // namespace rnn_ops::tf_kernels
