// The shape functions of the RNN ops, generated from the tables of the ops, and shared attributes.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_types.h"
#include "tensorflow/core/framework/shape_inference.h"

// See Activation in core/op/rnn_types.h.
#define RNN_OPS_ACTIVATION_ATTR(name, usual)                                                      \
  name ": {'tanh', 'sigmoid', 'hard_sigmoid', 'hard_sigmoid_keras2', 'relu', 'linear'} = '" usual \
       "'"

namespace rnn_ops::tf_kernels {

// The shape functions of the RNN ops, generated from the tables of the ops.

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

// Attributes that LayerRNN and its related ops share.

// The declaration of rnn_mode, whose values are the names of all cells.
inline std::string LayerModeAttr() {
  std::string names;
  for (const CellFacts& facts : kCellFacts) {
    names += std::string(names.empty() ? "'" : ", '") + facts.name + "'";
  }
  return "rnn_mode: {" + names + "} = 'lstm'";
}

}  // namespace rnn_ops::tf_kernels
