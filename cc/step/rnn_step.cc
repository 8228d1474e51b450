#include "cc/step/rnn_step.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/core/runtime/float_environment.h"
#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/cpu/dispatch/dispatch.h"
#include "cc/step/interface.h"
#include "cc/step/model_file.h"
#include "cc/step/program.h"
#include "cc/step/workers.h"

using rnn_ops::Code;
using rnn_ops::FailedPrecondition;
using rnn_ops::InvalidArgument;
using rnn_ops::Status;

namespace rnn_ops::step {

// Note [Updates]
// An update builds its program while calls run, and exchanges it for that of the stepper between
// two calls. The states are copied in the exchange, so no step is lost.
//
//   idle stepper      the update takes the stepper, exchanges the programs and gives it back
//   during a call     the update offers its program; the call exchanges the programs when it ends
//   during an update  a call waits for these microseconds
//
// A call neither locks nor allocates nor frees for it: the update frees the old program.
enum class Use { kNone, kCall, kUpdate };

struct Offer {
  std::unique_ptr<Program> program;  // after the exchange the old one
  std::atomic<bool> taken{false};
};

}  // namespace rnn_ops::step

struct RnnStepper {
  RnnStepper(std::unique_ptr<rnn_ops::step::Program> first, int num_threads)
      : interface(rnn_ops::step::InterfaceOf(*first)),
        batch(first->batch),
        time(first->max_time),
        threads(num_threads),
        program(std::move(first)),
        workers(num_threads - 1) {}

  // That of the first program: callers may keep pointers to the names and shapes.
  const rnn_ops::step::Interface interface;
  const int64_t batch, time;
  const int threads;

  std::unique_ptr<rnn_ops::step::Program> program;
  int from = 0;  // the buffer with the states
  std::atomic<rnn_ops::step::Use> use{rnn_ops::step::Use::kNone};
  std::atomic<rnn_ops::step::Offer*> offer{nullptr};
  std::mutex updates;  // one at a time
  rnn_ops::step::Workers workers;
};

namespace {

using rnn_ops::step::Interface;
using rnn_ops::step::Offer;
using rnn_ops::step::Program;
using rnn_ops::step::Tensor;
using rnn_ops::step::Use;

constexpr int kMostThreads = 1024;
// An update waits for a call in steps of this length.
constexpr std::chrono::microseconds kPoll{50};
// A call waits for the exchange of an update at most for this time: a process that was forked
// during the exchange does not have the thread of the update.
constexpr std::chrono::seconds kLongestExchange{10};

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

// Waits while an update exchanges the program. Returns false if another thread uses the stepper.
bool BeginCall(RnnStepper* stepper) {
  rnn_ops::Spin spin(kLongestExchange);
  do {
    Use use = Use::kNone;
    if (stepper->use.compare_exchange_strong(use, Use::kCall, std::memory_order_acquire)) {
      return true;
    }
    if (use == Use::kCall) return false;
  } while (spin.Again());
  return false;
}

// Takes over the program of an update, if there is one. The caller has the stepper.
void TakeOffer(RnnStepper* stepper) {
  Offer* const offer = stepper->offer.load(std::memory_order_acquire);
  if (offer == nullptr) return;
  for (size_t k = 0; k < stepper->program->states.size(); ++k) {
    const auto& state = *stepper->program->states[k];
    std::memcpy(offer->program->states[k]->buffers[stepper->from].as<float>(),
                state.buffers[stepper->from].as<float>(), state.elements * sizeof(float));
  }
  stepper->program.swap(offer->program);
  stepper->offer.store(nullptr, std::memory_order_relaxed);
  // The update may free the offer from now on.
  offer->taken.store(true, std::memory_order_release);
}

// Runs a function for the only thread that uses a stepper.
template <typename Function>
int Alone(RnnStepper* stepper, const Function& function) {
  if (stepper == nullptr) {
    return Guarded([] { return InvalidArgument("The stepper is NULL."); });
  }
  if (!BeginCall(stepper)) {
    return Guarded([] { return FailedPrecondition("Another thread uses the stepper."); });
  }
  const int code = Guarded(function);
  TakeOffer(stepper);
  stepper->use.store(Use::kNone, std::memory_order_release);
  return code;
}

// Has the program taken over between two calls: see Note [Updates].
void Exchange(RnnStepper* stepper, std::unique_ptr<Program> program) {
  // WHY not on the stack: a process that is forked now may take the offer, and has no such stack.
  const auto offer = std::make_unique<Offer>();
  offer->program = std::move(program);
  const std::lock_guard<std::mutex> lock(stepper->updates);
  stepper->offer.store(offer.get(), std::memory_order_release);
  while (!offer->taken.load(std::memory_order_acquire)) {
    Use use = Use::kNone;
    if (stepper->use.compare_exchange_strong(use, Use::kUpdate, std::memory_order_acquire)) {
      TakeOffer(stepper);
      stepper->use.store(Use::kNone, std::memory_order_release);
    } else {
      std::this_thread::sleep_for(kPoll);
    }
  }
}

struct Range {
  const char* begin;
  const char* end;
};

bool Overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

// Sets the memory of the inputs and outputs in a call.
Status SetTensors(RnnStepper* stepper, const void* const* inputs, float* const* outputs) {
  const auto range = [](const void* data, const Tensor& tensor) {
    const char* begin = static_cast<const char*>(data);
    return Range{begin, begin + tensor.elements * 4};
  };
  const Interface& names = stepper->interface;
  if (inputs == nullptr || outputs == nullptr) {
    return InvalidArgument("The array of the ", inputs == nullptr ? "inputs" : "outputs",
                           " is NULL.");
  }
  for (size_t k = 0; k < names.inputs.size(); ++k) {
    if (inputs[k] == nullptr) {
      return InvalidArgument("The input '", names.inputs[k].name, "' is NULL.");
    }
    stepper->program->inputs[k]->data = const_cast<void*>(inputs[k]);
  }
  for (size_t k = 0; k < names.outputs.size(); ++k) {
    const Tensor& output = names.outputs[k];
    if (outputs[k] == nullptr) return InvalidArgument("The output '", output.name, "' is NULL.");
    const Range own = range(outputs[k], output);
    for (size_t i = 0; i < names.inputs.size(); ++i) {
      if (Overlap(own, range(inputs[i], names.inputs[i]))) {
        return InvalidArgument("The memory of the output '", output.name,
                               "' overlaps that of the input '", names.inputs[i].name, "'.");
      }
    }
    for (size_t i = 0; i < k; ++i) {
      if (Overlap(own, range(outputs[i], names.outputs[i]))) {
        return InvalidArgument("The memory of the output '", output.name,
                               "' overlaps that of the output '", names.outputs[i].name, "'.");
      }
    }
    const auto& value = stepper->program->outputs[k];
    if (value.in_place) value.value->data = outputs[k];
  }
  return Status();
}

Status RunStep(RnnStepper* stepper, const void* const* inputs, float* const* outputs) {
  RNN_OPS_RETURN_IF_ERROR(SetTensors(stepper, inputs, outputs));
  const Program& program = *stepper->program;
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

// Copies state k to or from the stepper.
void GetState(const RnnStepper& stepper, int k, float* to) {
  const auto& state = *stepper.program->states[k];
  const float* const data = state.buffers[stepper.from].as<float>();
  std::copy(data, data + state.elements, to);
}

void SetState(RnnStepper* stepper, int k, const float* from) {
  const auto& state = *stepper->program->states[k];
  std::copy(from, from + state.elements, state.buffers[stepper->from].as<float>());
}

Status CheckState(const RnnStepper* stepper, int k, const float* data) {
  const int count = rnn_step_num_states(stepper);
  if (data == nullptr) return InvalidArgument("The memory for the state is NULL.");
  if (k >= 0 && k < count) return Status();
  return InvalidArgument("There are ", count, " states, but none has the number ", k, ".");
}

// Reads a file and makes its program. `purpose` begins the sentence of an error.
Status MakeProgram(const void* bytes, size_t size, int64_t batch, int64_t time, int threads,
                   const std::string& purpose, std::unique_ptr<Program>* program) {
  rnn_ops::step::ModelFile file;
  RNN_OPS_RETURN_IF_ERROR(rnn_ops::step::ReadModelFile(bytes, size, &file));
  *program = std::make_unique<Program>();
  const Status status = rnn_ops::step::BuildProgram(file, batch, time, threads, program->get());
  if (status.ok()) return status;
  return Status(status.code(), purpose + ": " + status.message() + ".");
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
    std::unique_ptr<Program> program;
    RNN_OPS_RETURN_IF_ERROR(
        MakeProgram(bytes, size, batch, time, threads, "The model cannot be run", &program));
    *stepper = new RnnStepper(std::move(program), threads);
    return Status();
  });
}

RNN_STEP_EXPORT void rnn_step_free(RnnStepper* stepper) { delete stepper; }

RNN_STEP_EXPORT int64_t rnn_step_batch(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : stepper->batch;
}

RNN_STEP_EXPORT int64_t rnn_step_time(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : stepper->time;
}

RNN_STEP_EXPORT int rnn_step_num_inputs(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : static_cast<int>(stepper->interface.inputs.size());
}

RNN_STEP_EXPORT int rnn_step_num_outputs(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : static_cast<int>(stepper->interface.outputs.size());
}

RNN_STEP_EXPORT int rnn_step_num_states(const RnnStepper* stepper) {
  return stepper == nullptr ? 0 : static_cast<int>(stepper->interface.states.size());
}

RNN_STEP_EXPORT RnnStepTensor rnn_step_input(const RnnStepper* stepper, int k) {
  return stepper == nullptr ? RnnStepTensor{} : TensorOf(stepper->interface.inputs, k);
}

RNN_STEP_EXPORT RnnStepTensor rnn_step_output(const RnnStepper* stepper, int k) {
  return stepper == nullptr ? RnnStepTensor{} : TensorOf(stepper->interface.outputs, k);
}

RNN_STEP_EXPORT RnnStepTensor rnn_step_state(const RnnStepper* stepper, int k) {
  return stepper == nullptr ? RnnStepTensor{} : TensorOf(stepper->interface.states, k);
}

RNN_STEP_EXPORT int rnn_step_call(RnnStepper* stepper, const void* const* inputs,
                                  float* const* outputs) {
  return Alone(stepper, [&] { return RunStep(stepper, inputs, outputs); });
}

RNN_STEP_EXPORT int rnn_step_reset(RnnStepper* stepper, const int64_t* rows, int64_t count) {
  return Alone(stepper, [&]() -> Status {
    if (rows != nullptr && count < 0) {
      return InvalidArgument("count must not be negative, but it is ", count, ".");
    }
    const int64_t batch = stepper->batch;
    for (int64_t i = 0; rows != nullptr && i < count; ++i) {
      if (rows[i] < 0 || rows[i] >= batch) {
        return InvalidArgument("rows must be from 0 to ", batch - 1, ", but there is ", rows[i],
                               ".");
      }
    }
    for (const auto& state : stepper->program->states) {
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
    GetState(*stepper, k, to);
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_set_state(RnnStepper* stepper, int k, const float* from) {
  return Alone(stepper, [&]() -> Status {
    RNN_OPS_RETURN_IF_ERROR(CheckState(stepper, k, from));
    SetState(stepper, k, from);
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_get_states(RnnStepper* stepper, float* const* to) {
  return Alone(stepper, [&]() -> Status {
    if (to == nullptr) return InvalidArgument("The array of the states is NULL.");
    for (int k = 0; k < rnn_step_num_states(stepper); ++k) {
      if (to[k] != nullptr) GetState(*stepper, k, to[k]);
    }
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_set_states(RnnStepper* stepper, const float* const* from) {
  return Alone(stepper, [&]() -> Status {
    if (from == nullptr) return InvalidArgument("The array of the states is NULL.");
    for (int k = 0; k < rnn_step_num_states(stepper); ++k) {
      if (from[k] != nullptr) SetState(stepper, k, from[k]);
    }
    return Status();
  });
}

RNN_STEP_EXPORT int rnn_step_update(RnnStepper* stepper, const void* bytes, size_t size) {
  return Guarded([&]() -> Status {
    if (stepper == nullptr) return InvalidArgument("The stepper is NULL.");
    const std::string purpose =
        rnn_ops::StrCat("The model cannot be that of a stepper with batch_size ", stepper->batch,
                        " and time ", stepper->time);
    std::unique_ptr<Program> program;
    RNN_OPS_RETURN_IF_ERROR(MakeProgram(bytes, size, stepper->batch, stepper->time,
                                        stepper->threads, purpose, &program));
    const Interface& wanted = stepper->interface;
    RNN_OPS_RETURN_IF_ERROR(CheckAgree(wanted, rnn_ops::step::InterfaceOf(*program)));
    // Errors of nodes have the names of inputs.
    for (size_t k = 0; k < wanted.inputs.size(); ++k) {
      program->inputs[k]->name = wanted.inputs[k].name;
    }
    Exchange(stepper, std::move(program));
    return Status();
  });
}

}  // extern "C"
