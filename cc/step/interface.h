// The inputs, outputs and states of a model, as its callers know them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cc/core/status.h"
#include "cc/step/program.h"

namespace rnn_ops::step {

// An input, an output or a state, as callers see it. `type`: RNN_STEP_FLOAT32 or RNN_STEP_INT32.
struct Tensor {
  std::string name;
  int type;
  bool has_time;
  std::vector<int64_t> shape;
  int64_t elements;
};

struct Interface {
  bool is_window = false;  // see Note [Windows] in program.h
  std::vector<Tensor> inputs, outputs, states;
};

Interface InterfaceOf(const Program& program);

// Returns InvalidArgument unless the tensors of another model agree with those of a stepper in all
// but their names. WHY names may differ: Keras numbers its names, so an equal model may have
// others. A name that belongs to another tensor of the stepper is an error: the order is then
// another one.
Status CheckAgree(const Interface& wanted, const Interface& given);

}  // namespace rnn_ops::step
