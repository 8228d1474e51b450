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

bool HaveOneShape(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.has_time == b.has_time && a.shape == b.shape;
}

// 'h', 'c' or 'x' at the end of the name of a state, before a number; otherwise 0.
char KindOf(const std::string& name) {
  const size_t last = name.find_last_not_of("_0123456789");
  if (last == std::string::npos || last == 0 || name[last - 1] != '_') return 0;
  const char kind = name[last];
  return kind == 'h' || kind == 'c' || kind == 'x' ? kind : 0;
}

// WHY the kinds: h and c of an LSTM have one shape, and layers in another order have one too.
bool MayBeOneState(const Tensor& a, const Tensor& b) {
  const char of_a = KindOf(a.name), of_b = KindOf(b.name);
  return HaveOneShape(a, b) && (of_a == of_b || of_a == 0 || of_b == 0);
}

Status CheckAgree(const char* what, const std::vector<Tensor>& wanted,
                  const std::vector<Tensor>& given, bool (*agrees)(const Tensor&, const Tensor&)) {
  bool agree = wanted.size() == given.size();
  for (size_t k = 0; agree && k < wanted.size(); ++k) {
    const Tensor &a = wanted[k], &b = given[k];
    const bool has_name_of_other =
        a.name != b.name && std::any_of(wanted.begin(), wanted.end(),
                                        [&b](const Tensor& other) { return other.name == b.name; });
    agree = agrees(a, b) && !has_name_of_other;
  }
  if (agree) return Status();
  return InvalidArgument("The model must have the ", what, " ", ToText(wanted), ", but it has ",
                         ToText(given), ".");
}

}  // namespace

Interface InterfaceOf(const Program& program) {
  Interface found;
  found.is_window = program.is_window;
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
  RNN_OPS_RETURN_IF_ERROR(CheckAgree("inputs", wanted.inputs, given.inputs, &HaveOneShape));
  RNN_OPS_RETURN_IF_ERROR(CheckAgree("outputs", wanted.outputs, given.outputs, &HaveOneShape));
  return CheckAgree("states", wanted.states, given.states, &MayBeOneState);
}

}  // namespace rnn_ops::step
