#include "cc/step/rnn_step.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/runtime/float_environment.h"
#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/cpu/dispatch/dispatch.h"
#include "cc/step/model_file.h"
#include "cc/step/program.h"
#include "cc/step/workers.h"

using rnn_ops::Code;
using rnn_ops::FailedPrecondition;
using rnn_ops::InvalidArgument;
using rnn_ops::Status;

struct RnnStepper {
  RnnStepper(int num_threads) : threads(num_threads), workers(num_threads - 1) {}

  rnn_ops::step::Program program;
  const int threads;
  int from = 0;  // the buffer with the states
  std::atomic<bool> in_use{false};
  rnn_ops::step::Workers workers;
};

namespace {

constexpr int kMostThreads = 1024;

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
  Status status;
  try {
    status = function();
    if (!status.ok()) {
      last_message = status.message();
      last_error = last_message.c_str();
    }
  } catch (const std::bad_alloc&) {
    last_error = "There is not enough memory.";
    return RNN_STEP_NO_MEMORY;
  } catch (...) {
    last_error = "The library has failed.";
    return RNN_STEP_INTERNAL;
  }
  return CodeOf(status);
}

// Runs a function for the only thread that uses a stepper.
template <typename Function>
int Alone(RnnStepper* stepper, const Function& function) {
  if (stepper == nullptr) {
    return Guarded([] { return InvalidArgument("The stepper is NULL."); });
  }
  if (stepper->in_use.exchange(true, std::memory_order_acquire)) {
    return Guarded([] { return FailedPrecondition("Another thread uses the stepper."); });
  }
  const int code = Guarded(function);
  stepper->in_use.store(false, std::memory_order_release);
  return code;
}

struct Range {
  const char* begin;
  const char* end;
};

bool Overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

// Sets the memory of the inputs and outputs in a call.
Status SetTensors(rnn_ops::step::Program* program, const void* const* inputs,
                  float* const* outputs) {
  const auto range = [](const void* data, int64_t elements) {
    const char* begin = static_cast<const char*>(data);
    return Range{begin, begin + elements * 4};
  };
  for (size_t k = 0; k < program->inputs.size(); ++k) {
    if (inputs[k] == nullptr) {
      return InvalidArgument("The input '", program->inputs[k]->name, "' is NULL.");
    }
    program->inputs[k]->data = const_cast<void*>(inputs[k]);
  }
  for (size_t k = 0; k < program->outputs.size(); ++k) {
    const auto& output = program->outputs[k];
    if (outputs[k] == nullptr) return InvalidArgument("The output '", output.name, "' is NULL.");
    const Range own = range(outputs[k], output.value->elements());
    for (size_t i = 0; i < program->inputs.size(); ++i) {
      if (Overlap(own, range(inputs[i], program->inputs[i]->elements()))) {
        return InvalidArgument("The memory of the output '", output.name,
                               "' overlaps that of the input '", program->inputs[i]->name, "'.");
      }
    }
    for (size_t i = 0; i < k; ++i) {
      const auto& other = program->outputs[i];
      if (Overlap(own, range(outputs[i], other.value->elements()))) {
        return InvalidArgument("The memory of the output '", output.name,
                               "' overlaps that of the output '", other.name, "'.");
      }
    }
    if (output.in_place) output.value->data = outputs[k];
  }
  return Status();
}

Status RunStep(RnnStepper* stepper, const void* const* inputs, float* const* outputs) {
  rnn_ops::step::Program& program = stepper->program;
  RNN_OPS_RETURN_IF_ERROR(SetTensors(&program, inputs, outputs));
  const rnn_ops::ScopedFloatEnvironment environment;
  rnn_ops::Team team(stepper->threads, [stepper](std::function<void()> closure) {
    stepper->workers.Schedule(std::move(closure));
  });
  const rnn_ops::step::Call call = {&team, stepper->from};
  for (const auto& node : program.nodes) RNN_OPS_RETURN_IF_ERROR(node->Run(call));
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    const auto& output = program.outputs[k];
    if (output.in_place) continue;
    std::memcpy(outputs[k], output.value->data, output.value->elements() * 4);
  }
  stepper->from = 1 - stepper->from;
  return Status();
}

Status CheckState(const RnnStepper* stepper, int k, const float* data) {
  const int count = rnn_step_num_states(stepper);
  if (data == nullptr) return InvalidArgument("The memory for the state is NULL.");
  if (k >= 0 && k < count) return Status();
  return InvalidArgument("There are ", count, " states, but none has the number ", k, ".");
}

RnnStepTensor TensorOf(const std::string& name, int type, bool has_time,
                       const std::vector<int64_t>& shape, int64_t elements) {
  return {name.c_str(), type, has_time, static_cast<int>(shape.size()), shape.data(), elements};
}

template <typename List>
bool HasItem(const List& list, int k) {
  return k >= 0 && static_cast<size_t>(k) < list.size();
}

}  // namespace

#define RNN_STEP_EXPORT __attribute__((visibility("default")))

extern "C" {

RNN_STEP_EXPORT int rnn_step_version(void) { return RNN_STEP_VERSION; }

RNN_STEP_EXPORT const char* rnn_step_error(void) { return last_error; }

RNN_STEP_EXPORT const char* rnn_step_isa(void) { return rnn_ops::cpu::Kernels().isa; }

RNN_STEP_EXPORT int rnn_step_new(const void* bytes, size_t size, int64_t batch, int64_t time,
                                 int threads, RnnStepper** stepper) {
  *stepper = nullptr;
  return Guarded([&]() -> Status {
    if (threads < 1 || threads > kMostThreads) {
      return InvalidArgument("threads must be from 1 to ", kMostThreads, ", but it is ", threads,
                             ".");
    }
    rnn_ops::step::ModelFile file;
    RNN_OPS_RETURN_IF_ERROR(rnn_ops::step::ReadModelFile(bytes, size, &file));
    auto made = std::make_unique<RnnStepper>(threads);
    const Status status = rnn_ops::step::BuildProgram(file, batch, time, &made->program);
    if (!status.ok()) {
      return Status(status.code(), "The model cannot be run: " + status.message() + ".");
    }
    *stepper = made.release();
    return Status();
  });
}

RNN_STEP_EXPORT void rnn_step_free(RnnStepper* stepper) { delete stepper; }

RNN_STEP_EXPORT int64_t rnn_step_batch(const RnnStepper* stepper) { return stepper->program.batch; }

RNN_STEP_EXPORT int64_t rnn_step_time(const RnnStepper* stepper) {
  return stepper->program.max_time;
}

RNN_STEP_EXPORT int rnn_step_num_inputs(const RnnStepper* stepper) {
  return static_cast<int>(stepper->program.inputs.size());
}

RNN_STEP_EXPORT int rnn_step_num_outputs(const RnnStepper* stepper) {
  return static_cast<int>(stepper->program.outputs.size());
}

RNN_STEP_EXPORT int rnn_step_num_states(const RnnStepper* stepper) {
  return static_cast<int>(stepper->program.states.size());
}

RNN_STEP_EXPORT RnnStepTensor rnn_step_input(const RnnStepper* stepper, int k) {
  const rnn_ops::step::Program& p = stepper->program;
  if (!HasItem(p.inputs, k)) return {};
  const rnn_ops::step::Value& value = *p.inputs[k];
  const bool is_float = value.type == rnn_ops::ElementType::kFloat32;
  return TensorOf(value.name, is_float ? RNN_STEP_FLOAT32 : RNN_STEP_INT32, value.has_time,
                  p.input_shapes[k], value.elements());
}

RNN_STEP_EXPORT RnnStepTensor rnn_step_output(const RnnStepper* stepper, int k) {
  const auto& outputs = stepper->program.outputs;
  if (!HasItem(outputs, k)) return {};
  return TensorOf(outputs[k].name, RNN_STEP_FLOAT32, outputs[k].value->has_time, outputs[k].shape,
                  outputs[k].value->elements());
}

RNN_STEP_EXPORT RnnStepTensor rnn_step_state(const RnnStepper* stepper, int k) {
  const auto& states = stepper->program.states;
  if (!HasItem(states, k)) return {};
  return TensorOf(states[k]->name, RNN_STEP_FLOAT32, false, states[k]->shape, states[k]->elements);
}

RNN_STEP_EXPORT int rnn_step_call(RnnStepper* stepper, const void* const* inputs,
                                  float* const* outputs) {
  return Alone(stepper, [&] { return RunStep(stepper, inputs, outputs); });
}

RNN_STEP_EXPORT int rnn_step_reset(RnnStepper* stepper, const int64_t* rows, int64_t count) {
  return Alone(stepper, [&]() -> Status {
    const int64_t batch = stepper->program.batch;
    for (int64_t i = 0; rows != nullptr && i < count; ++i) {
      if (rows[i] < 0 || rows[i] >= batch) {
        return InvalidArgument("rows must be from 0 to ", batch - 1, ", but there is ", rows[i],
                               ".");
      }
    }
    for (const auto& state : stepper->program.states) {
      float* const data = state->buffers[stepper->from].as<float>();
      const int64_t row = state->elements / batch;
      if (rows == nullptr) std::fill(data, data + state->elements, 0.0f);
      for (int64_t i = 0; rows != nullptr && i < count; ++i) {
        std::fill(data + rows[i] * row, data + (rows[i] + 1) * row, 0.0f);
      }
    }
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_get_state(RnnStepper* stepper, int k, float* to) {
  return Alone(stepper, [&]() -> Status {
    RNN_OPS_RETURN_IF_ERROR(CheckState(stepper, k, to));
    const auto& state = *stepper->program.states[k];
    const float* data = state.buffers[stepper->from].as<float>();
    std::copy(data, data + state.elements, to);
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_set_state(RnnStepper* stepper, int k, const float* from) {
  return Alone(stepper, [&]() -> Status {
    RNN_OPS_RETURN_IF_ERROR(CheckState(stepper, k, from));
    const auto& state = *stepper->program.states[k];
    std::copy(from, from + state.elements, state.buffers[stepper->from].as<float>());
    return Status();
  });
}

}  // extern "C"
