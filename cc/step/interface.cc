#include "cc/step/interface.h"

#include <algorithm>

#include "cc/core/op/shapes.h"
#include "cc/step/rnn_step.h"

namespace rnn_ops::step {
namespace {

std::string ToText(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& tensor : tensors) {
    text +=
        StrCat(text.empty() ? "" : ", ", "'", tensor.name, "' (",
               tensor.type == RNN_STEP_FLOAT32 ? "float32 " : "int32 ",
               ToString(PartialShape::Of(tensor.shape)), tensor.has_time ? ", with time)" : ")");
  }
  return text.empty() ? "(none)" : text;
}

Status CheckAgree(const char* what, const std::vector<Tensor>& wanted,
                  const std::vector<Tensor>& given) {
  bool agree = wanted.size() == given.size();
  for (size_t k = 0; agree && k < wanted.size(); ++k) {
    const Tensor &a = wanted[k], &b = given[k];
    const bool has_name_of_other =
        a.name != b.name && std::any_of(wanted.begin(), wanted.end(),
                                        [&b](const Tensor& other) { return other.name == b.name; });
    agree =
        a.type == b.type && a.has_time == b.has_time && a.shape == b.shape && !has_name_of_other;
  }
  if (agree) return Status();
  return InvalidArgument("The model must have the ", what, " ", ToText(wanted), ", but it has ",
                         ToText(given), ".");
}

}  // namespace

Interface InterfaceOf(const Program& program) {
  Interface found;
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    const Value& value = *program.inputs[k];
    const bool is_float = value.type == ElementType::kFloat32;
    found.inputs.push_back({value.name, is_float ? RNN_STEP_FLOAT32 : RNN_STEP_INT32,
                            value.has_time, program.input_shapes[k], value.elements()});
  }
  for (const auto& output : program.outputs) {
    found.outputs.push_back({output.name, RNN_STEP_FLOAT32, output.value->has_time, output.shape,
                             output.value->elements()});
  }
  for (const auto& state : program.states) {
    found.states.push_back(
        {state->name, RNN_STEP_FLOAT32, /*has_time=*/false, state->shape, state->elements});
  }
  return found;
}

Status CheckAgree(const Interface& wanted, const Interface& given) {
  RNN_OPS_RETURN_IF_ERROR(CheckAgree("inputs", wanted.inputs, given.inputs));
  RNN_OPS_RETURN_IF_ERROR(CheckAgree("outputs", wanted.outputs, given.outputs));
  return CheckAgree("states", wanted.states, given.states);
}

}  // namespace rnn_ops::step
