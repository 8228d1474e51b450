#include "cc/step/rnn_step.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/runtime/float_environment.h"
#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/cpu/dispatch/dispatch.h"
#include "cc/step/interface.h"
#include "cc/step/lock.h"
#include "cc/step/model.h"
#include "cc/step/program.h"

using rnn_ops::Code;
using rnn_ops::FailedPrecondition;
using rnn_ops::InvalidArgument;
using rnn_ops::Status;

// A stream of a model.
struct RnnStepper {
  std::shared_ptr<rnn_ops::step::Model> model;
  rnn_ops::step::Place* likely;  // of the last usual call
  rnn_ops::step::States states;
  rnn_ops::step::Lock use;
};

namespace {

using rnn_ops::step::Form;
using rnn_ops::step::Interface;
using rnn_ops::step::Locked;
using rnn_ops::step::Model;
using rnn_ops::step::Place;
using rnn_ops::step::Program;
using rnn_ops::step::Tensor;
using rnn_ops::step::Workspace;

constexpr int kMostThreads = 1024;
constexpr int64_t kMostCalls = 1024;
// The most memory of closed streams that a process keeps, in bytes.
constexpr int64_t kMostKept = int64_t{4} << 20;

// The sentence of the last error; it points to last_message or to a constant.
thread_local const char* last_error = "";
thread_local std::string last_message;

int CodeOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return RNN_STEP_OK;
    case Code::kInvalidArgument:
    case Code::kUnimplemented:
      return RNN_STEP_INVALID;
    case Code::kFailedPrecondition:
      return RNN_STEP_BUSY;
    case Code::kResourceExhausted:
      return RNN_STEP_NO_MEMORY;
    case Code::kInternal:
      break;
  }
  return RNN_STEP_INTERNAL;
}

// Runs a function that returns a Status. No exception may pass to a program in C.
template <typename Function>
int Guarded(const Function& function) {
  try {
    const Status status = function();
    if (status.ok()) return RNN_STEP_OK;
    last_message = status.message();
    last_error = last_message.c_str();
    return CodeOf(status);
  } catch (const std::bad_alloc&) {
    last_error = "There is not enough memory.";
    return RNN_STEP_NO_MEMORY;
  } catch (...) {
    last_error = "The library has failed.";
    return RNN_STEP_INTERNAL;
  }
}

// Runs a function for the only thread that uses a stepper.
template <typename Function>
int Alone(RnnStepper* stepper, const Function& function) {
  if (stepper == nullptr) {
    return Guarded([] { return InvalidArgument("The stepper is NULL."); });
  }
  if (!stepper->use.Try()) {
    return Guarded([] { return FailedPrecondition("Another thread uses the stepper."); });
  }
  const Locked use = Locked::Taken(&stepper->use);
  return Guarded(function);
}

struct Range {
  const char* begin;
  int64_t bytes;
};

bool Overlap(const Range& a, const Range& b) {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

// Sets the memory of the inputs and outputs in a call.
[[gnu::always_inline]] inline Status SetTensors(const Interface& names, Program* program,
                                                const void* const* inputs, float* const* outputs) {
  if (inputs == nullptr || outputs == nullptr) {
    return InvalidArgument("The array of the ", inputs == nullptr ? "inputs" : "outputs",
                           " is NULL.");
  }
  const size_t num_inputs = program->inputs.size(), num_outputs = program->outputs.size();
  const auto input = [&](size_t k) {
    return Range{static_cast<const char*>(inputs[k]), program->input_bytes[k]};
  };
  const auto output = [&](size_t k) {
    return Range{reinterpret_cast<const char*>(outputs[k]), program->outputs[k].bytes};
  };
  for (size_t k = 0; k < num_inputs; ++k) {
    if (inputs[k] == nullptr) {
      return InvalidArgument("The input '", names.inputs[k].name, "' is NULL.");
    }
    program->inputs[k]->data = const_cast<void*>(inputs[k]);
  }
  for (size_t k = 0; k < num_outputs; ++k) {
    const std::string& name = names.outputs[k].name;
    if (outputs[k] == nullptr) return InvalidArgument("The output '", name, "' is NULL.");
    for (size_t i = 0; i < num_inputs; ++i) {
      if (Overlap(output(k), input(i))) {
        return InvalidArgument("The memory of the output '", name, "' overlaps that of the input '",
                               names.inputs[i].name, "'.");
      }
    }
    for (size_t i = 0; i < k; ++i) {
      if (Overlap(output(k), output(i))) {
        return InvalidArgument("The memory of the output '", name,
                               "' overlaps that of the output '", names.outputs[i].name, "'.");
      }
    }
    const auto& value = program->outputs[k];
    if (value.in_place) value.value->data = outputs[k];
  }
  return Status();
}

// Copies an output that is not written in place.
void CopyOutput(const Program& program, const Program::Output& output, float* to) {
  const auto* from = static_cast<const float*>(output.value->data);
  if (!program.last_step || !output.value->has_time) {
    std::memcpy(to, from, output.bytes);
    return;
  }
  const int64_t row = output.value->row_elements, steps = program.max_time;
  for (int64_t b = 0; b < program.batch; ++b) {
    std::memcpy(to + b * row, from + (b * steps + steps - 1) * row, row * sizeof(float));
  }
}

// Undoes a call for the rows that are idle.
void KeepIdleRows(const Program& program, const uint8_t* idle, const float* before, float* after,
                  float* const* outputs) {
  for (int64_t b = 0; b < program.batch; ++b) {
    if (idle[b] == 0) continue;
    for (const auto& state : program.states) {
      const int64_t row = state->elements / program.batch, at = state->offset + b * row;
      std::memcpy(after + at, before + at, row * sizeof(float));
    }
    for (size_t k = 0; k < program.outputs.size(); ++k) {
      const int64_t row = program.outputs[k].bytes / program.batch;
      std::memset(reinterpret_cast<char*>(outputs[k]) + b * row, 0, row);
    }
  }
}

// Runs the program of a place that the call has. Inlined, which saves some nanoseconds.
[[gnu::always_inline]] inline Status RunStep(RnnStepper* stepper, Place* place, const uint8_t* idle,
                                             const void* const* inputs, float* const* outputs) {
  Workspace& workspace = *place->workspace;
  Program& program = *workspace.program;
  RNN_OPS_RETURN_IF_ERROR(SetTensors(stepper->model->interface(), &program, inputs, outputs));
  const rnn_ops::ScopedFloatEnvironment environment;
  std::optional<rnn_ops::Team> several;
  if (program.threads > 1) {
    several.emplace(program.threads, [place](std::function<void()> closure) {
      place->workers.Schedule(std::move(closure));
    });
  }
  rnn_ops::Team* const team = several ? &*several : &place->caller;
  const rnn_ops::step::Call call = {team, stepper->states.get(), workspace.after.get()};
  for (const auto& node : program.nodes) RNN_OPS_RETURN_IF_ERROR(node->Run(call));
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    if (!program.outputs[k].in_place) CopyOutput(program, program.outputs[k], outputs[k]);
  }
  if (idle != nullptr) {
    KeepIdleRows(program, idle, call.states_before, call.states_after, outputs);
  }
  stepper->states.swap(workspace.after);
  return Status();
}

// Runs a call of the usual form, or of another one.
Status RunUsual(RnnStepper* stepper, const uint8_t* idle, const void* const* inputs,
                float* const* outputs) {
  if (!stepper->model->TryUsual(stepper->likely)) {
    RNN_OPS_RETURN_IF_ERROR(stepper->model->TakeUsual(&stepper->likely));
  }
  const Locked place = Locked::Taken(&stepper->likely->lock);
  return RunStep(stepper, stepper->likely, idle, inputs, outputs);
}

Status RunOther(RnnStepper* stepper, const RnnStepOptions& options, const void* const* inputs,
                float* const* outputs) {
  const int64_t time = stepper->model->time();
  if (stepper->model->interface().is_window && options.last_step != 0) {
    return InvalidArgument("last_step must be 0 for a model of windows, but it is ",
                           options.last_step, ".");
  }
  if (stepper->model->interface().is_window && options.steps != 0 && options.steps != time) {
    return InvalidArgument("steps must be 0 or ", time, ", the window of the model, but it is ",
                           options.steps, ".");
  }
  if (options.last_step != 0 && options.last_step != 1) {
    return InvalidArgument("last_step must be 0 or 1, but it is ", options.last_step, ".");
  }
  const Form form = {options.steps == 0 ? time : options.steps, options.last_step == 1};
  if (form.steps < 1 || form.steps > time) {
    return InvalidArgument("steps must be from 1 to ", time, ", but it is ", options.steps, ".");
  }
  if (form.steps == time && !form.last_step) {
    return RunUsual(stepper, options.idle, inputs, outputs);
  }
  Place* place = nullptr;
  RNN_OPS_RETURN_IF_ERROR(stepper->model->TakeOther(&place));
  const Locked taken = Locked::Taken(&place->lock);
  RNN_OPS_RETURN_IF_ERROR(stepper->model->SetForm(place, form));
  return RunStep(stepper, place, options.idle, inputs, outputs);
}

// Copies a part of the states to or from the stepper: of all rows, or of one.
class Part {
 public:
  explicit Part(const RnnStepper& stepper) : stepper_(stepper) {}
  Part(const RnnStepper& stepper, int64_t row) : stepper_(stepper), row_(row) {}

  void Get(int k, float* to) const { std::copy(Begin(k), Begin(k) + Count(k), to); }
  void Set(int k, const float* from) const { std::copy(from, from + Count(k), Begin(k)); }

 private:
  int64_t Count(int k) const {
    const int64_t all = stepper_.model->interface().states[k].elements;
    return row_ < 0 ? all : all / stepper_.model->batch();
  }
  float* Begin(int k) const {
    return stepper_.states.get() + stepper_.model->offset(k) + (row_ < 0 ? 0 : row_ * Count(k));
  }

  const RnnStepper& stepper_;
  const int64_t row_ = -1;
};

Status CheckState(const RnnStepper* stepper, int k, const float* data) {
  const int count = rnn_step_num_states(stepper);
  if (data == nullptr) return InvalidArgument("The memory for the state is NULL.");
  if (k >= 0 && k < count) return Status();
  return InvalidArgument("There are ", count, " states, but none has the number ", k, ".");
}

Status CheckRow(const RnnStepper* stepper, int64_t row) {
  const int64_t batch = stepper->model->batch();
  if (row >= 0 && row < batch) return Status();
  return InvalidArgument("rows must be from 0 to ", batch - 1, ", but there is ", row, ".");
}

Status GetStates(const RnnStepper* stepper, const Part& part, float* const* to) {
  const int count = rnn_step_num_states(stepper);
  if (to == nullptr && count > 0) return InvalidArgument("The array of the states is NULL.");
  for (int k = 0; k < count; ++k) {
    if (to[k] != nullptr) part.Get(k, to[k]);
  }
  return Status();
}

Status SetStates(const RnnStepper* stepper, const Part& part, const float* const* from) {
  const int count = rnn_step_num_states(stepper);
  if (from == nullptr && count > 0) return InvalidArgument("The array of the states is NULL.");
  for (int k = 0; k < count; ++k) {
    if (from[k] != nullptr) part.Set(k, from[k]);
  }
  return Status();
}

// Returns memory of closed streams to the system from time to time.
//
// WHY: the C library returns only what lies behind all memory in use. The last stream that was
// called has given its memory to the workspace, which would keep that of all the others.
void NoteFreed(int64_t bytes) {
  static std::atomic<int64_t> freed{0};
  if (freed.fetch_add(bytes, std::memory_order_relaxed) + bytes < kMostKept) return;
  freed.store(0, std::memory_order_relaxed);
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// Makes a stream of a model.
Status NewStream(std::shared_ptr<Model> model, Place* likely, RnnStepper** stepper) {
  std::unique_ptr<RnnStepper> made(new RnnStepper{std::move(model), likely, nullptr, {}});
  RNN_OPS_RETURN_IF_ERROR(made->model->NewStates(&made->states));
  *stepper = made.release();
  return Status();
}

RnnStepTensor TensorOf(const std::vector<Tensor>& tensors, int k) {
  if (k < 0 || static_cast<size_t>(k) >= tensors.size()) return {};
  const Tensor& tensor = tensors[k];
  return {tensor.name.c_str(), tensor.type,
          tensor.has_time,     static_cast<int>(tensor.shape.size()),
          tensor.shape.data(), tensor.elements};
}

}  // namespace

#define RNN_STEP_EXPORT __attribute__((visibility("default")))

extern "C" {

RNN_STEP_EXPORT int rnn_step_version(void) { return RNN_STEP_VERSION; }

RNN_STEP_EXPORT const char* rnn_step_error(void) { return last_error; }

RNN_STEP_EXPORT const char* rnn_step_isa(void) {
  // The first call opens the kernels' objects, for which there may be no memory.
  const char* isa = "";
  Guarded([&] {
    isa = rnn_ops::cpu::Kernels().isa;
    return Status();
  });
  return isa;
}

RNN_STEP_EXPORT int rnn_step_new(const void* bytes, size_t size, int64_t batch, int64_t time,
                                 int threads, RnnStepper** stepper) {
  return Guarded([&]() -> Status {
    if (stepper == nullptr) return InvalidArgument("The address for the stepper is NULL.");
    *stepper = nullptr;
    if (threads < 1 || threads > kMostThreads) {
      return InvalidArgument("threads must be from 1 to ", kMostThreads, ", but it is ", threads,
                             ".");
    }
    std::shared_ptr<Model> model;
    RNN_OPS_RETURN_IF_ERROR(Model::Make(bytes, size, batch, time, threads, &model));
    Place* const first = model->first();
    return NewStream(std::move(model), first, stepper);
  });
}

RNN_STEP_EXPORT int rnn_step_clone(RnnStepper* stepper, RnnStepper** clone) {
  if (clone != nullptr) *clone = nullptr;
  return Alone(stepper, [&]() -> Status {
    if (clone == nullptr) return InvalidArgument("The address for the clone is NULL.");
    RNN_OPS_RETURN_IF_ERROR(NewStream(stepper->model, stepper->likely, clone));
    const float* const from = stepper->states.get();
    std::copy(from, from + stepper->model->state_elements(), (*clone)->states.get());
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_reserve(RnnStepper* stepper, int calls) {
  return Guarded([&]() -> Status {
    if (stepper == nullptr) return InvalidArgument("The stepper is NULL.");
    if (calls < 1 || calls > kMostCalls) {
      return InvalidArgument("calls must be from 1 to ", kMostCalls, ", but it is ", calls, ".");
    }
    return stepper->model->Reserve(calls);
  });
}

RNN_STEP_EXPORT void rnn_step_free(RnnStepper* stepper) {
  if (stepper == nullptr) return;
  const int64_t bytes = stepper->model->state_elements() * int64_t{sizeof(float)};
  delete stepper;
  NoteFreed(bytes + int64_t{sizeof(RnnStepper)});
}

RNN_STEP_EXPORT int64_t rnn_step_batch(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : stepper->model->batch();
}

RNN_STEP_EXPORT int64_t rnn_step_time(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : stepper->model->time();
}

RNN_STEP_EXPORT int rnn_step_is_window(const RnnStepper* stepper) {
  return stepper != nullptr && stepper->model->interface().is_window ? 1 : 0;
}

RNN_STEP_EXPORT int rnn_step_num_inputs(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : static_cast<int>(stepper->model->interface().inputs.size());
}

RNN_STEP_EXPORT int rnn_step_num_outputs(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : static_cast<int>(stepper->model->interface().outputs.size());
}

RNN_STEP_EXPORT int rnn_step_num_states(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : static_cast<int>(stepper->model->interface().states.size());
}

RNN_STEP_EXPORT RnnStepTensor rnn_step_input(const RnnStepper* stepper, int k) {
  return stepper == nullptr ? RnnStepTensor{} : TensorOf(stepper->model->interface().inputs, k);
}

RNN_STEP_EXPORT RnnStepTensor rnn_step_output(const RnnStepper* stepper, int k) {
  return stepper == nullptr ? RnnStepTensor{} : TensorOf(stepper->model->interface().outputs, k);
}

RNN_STEP_EXPORT RnnStepTensor rnn_step_state(const RnnStepper* stepper, int k) {
  return stepper == nullptr ? RnnStepTensor{} : TensorOf(stepper->model->interface().states, k);
}

RNN_STEP_EXPORT int rnn_step_call(RnnStepper* stepper, const void* const* inputs,
                                  float* const* outputs) {
  return Alone(stepper, [&] { return RunUsual(stepper, nullptr, inputs, outputs); });
}

RNN_STEP_EXPORT int rnn_step_call_with(RnnStepper* stepper, const RnnStepOptions* options,
                                       const void* const* inputs, float* const* outputs) {
  return Alone(stepper, [&]() -> Status {
    if (options == nullptr) return InvalidArgument("The options are NULL.");
    return RunOther(stepper, *options, inputs, outputs);
  });
}

RNN_STEP_EXPORT int rnn_step_reset(RnnStepper* stepper, const int64_t* rows, int64_t count) {
  return Alone(stepper, [&]() -> Status {
    if (rows != nullptr && count < 0) {
      return InvalidArgument("count must not be negative, but it is ", count, ".");
    }
    for (int64_t i = 0; rows != nullptr && i < count; ++i) {
      RNN_OPS_RETURN_IF_ERROR(CheckRow(stepper, rows[i]));
    }
    const Model& model = *stepper->model;
    float* const all = stepper->states.get();
    if (rows == nullptr) std::fill(all, all + model.state_elements(), 0.0f);
    for (int k = 0; rows != nullptr && k < rnn_step_num_states(stepper); ++k) {
      const int64_t row = model.interface().states[k].elements / model.batch();
      for (int64_t i = 0; i < count; ++i) {
        float* const data = all + model.offset(k) + rows[i] * row;
        std::fill(data, data + row, 0.0f);
      }
    }
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_get_state(RnnStepper* stepper, int k, float* to) {
  return Alone(stepper, [&]() -> Status {
    RNN_OPS_RETURN_IF_ERROR(CheckState(stepper, k, to));
    Part(*stepper).Get(k, to);
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_set_state(RnnStepper* stepper, int k, const float* from) {
  return Alone(stepper, [&]() -> Status {
    RNN_OPS_RETURN_IF_ERROR(CheckState(stepper, k, from));
    Part(*stepper).Set(k, from);
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_get_states(RnnStepper* stepper, float* const* to) {
  return Alone(stepper, [&] { return GetStates(stepper, Part(*stepper), to); });
}

RNN_STEP_EXPORT int rnn_step_set_states(RnnStepper* stepper, const float* const* from) {
  return Alone(stepper, [&] { return SetStates(stepper, Part(*stepper), from); });
}

RNN_STEP_EXPORT int rnn_step_get_row(RnnStepper* stepper, int64_t row, float* const* to) {
  return Alone(stepper, [&]() -> Status {
    RNN_OPS_RETURN_IF_ERROR(CheckRow(stepper, row));
    return GetStates(stepper, Part(*stepper, row), to);
  });
}

RNN_STEP_EXPORT int rnn_step_set_row(RnnStepper* stepper, int64_t row, const float* const* from) {
  return Alone(stepper, [&]() -> Status {
    RNN_OPS_RETURN_IF_ERROR(CheckRow(stepper, row));
    return SetStates(stepper, Part(*stepper, row), from);
  });
}

RNN_STEP_EXPORT int rnn_step_update(RnnStepper* stepper, const void* bytes, size_t size) {
  return Guarded([&]() -> Status {
    if (stepper == nullptr) return InvalidArgument("The stepper is NULL.");
    return stepper->model->Update(bytes, size);
  });
}

RNN_STEP_EXPORT const char* rnn_step_metadata(const RnnStepper* stepper, const char* key) {
  thread_local std::string text;
  const char* found = nullptr;
  Guarded([&] {
    if (stepper != nullptr && stepper->model->Metadata(key, &text)) found = text.c_str();
    return Status();
  });
  return found;
}

}  // extern "C"
