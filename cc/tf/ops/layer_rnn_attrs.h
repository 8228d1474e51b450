// Attributes that LayerRNN and its related ops share.
#pragma once

#include <string>

#include "cc/core/op/rnn_types.h"

// See Activation in core/op/rnn_types.h.
#define RNN_OPS_ACTIVATION_ATTR(name, usual)                                                      \
  name ": {'tanh', 'sigmoid', 'hard_sigmoid', 'hard_sigmoid_keras2', 'relu', 'linear'} = '" usual \
       "'"

namespace rnn_ops::tf_kernels {

// The declaration of rnn_mode, whose values are the names of all cells.
inline std::string LayerModeAttr() {
  std::string names;
  for (const CellFacts& facts : kCellFacts) {
    names += std::string(names.empty() ? "'" : ", '") + facts.name + "'";
  }
  return "rnn_mode: {" + names + "} = 'lstm'";
}

}  // namespace rnn_ops::tf_kernels
