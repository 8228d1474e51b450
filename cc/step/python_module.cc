// rnn_step.h for tf_rnn_ops/stepper: what ctypes would take longer for than a small network.

#include <cxxabi.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "cc/step/python_min.h"
#include "cc/step/rnn_step.h"

namespace {

constexpr const char* kCapsule = "tf_rnn_ops.RnnStepper";
// The most inputs and outputs of a call, for memory on the stack.
constexpr int kMostTensors = 64;

// Whether the calls of a stepper give up Python's global lock: the first one, and long ones. All
// calls have the same sizes, so the shortest of a few tells how long they take.
//
// WHY not each call: a thread that gives the lock up next to another busy thread waits up to 5 ms
// for it, a thousand times as long as a call of a small model.
class LockChoice {
 public:
  bool gives_up() const { return shortest_ns_ >= kShortNs; }
  bool measures() const { return measured_ < kMeasuredCalls; }
  void Note(int64_t ns) {
    shortest_ns_ = std::min(shortest_ns_, ns);
    ++measured_;
  }

 private:
  static constexpr int64_t kShortNs = 50000;
  static constexpr int kMeasuredCalls = 8;

  int64_t shortest_ns_ = INT64_MAX;
  int measured_ = 0;
};

int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// The content of a capsule.
struct Held {
  RnnStepper* stepper;  // null after close()
  LockChoice lock;
  int users = 0;  // the functions that use the stepper without Python's lock
};

Held* HeldBy(PyObject* capsule) {
  return static_cast<Held*>(PyCapsule_GetPointer(capsule, kCapsule));
}

// Returns nullptr after setting an error.
RnnStepper* StepperOf(PyObject* capsule) {
  const Held* const held = HeldBy(capsule);
  if (held == nullptr) return nullptr;
  if (held->stepper == nullptr) PyErr_SetString(PyExc_ValueError, "The stepper is closed.");
  return held->stepper;
}

// Takes Python's lock again, in a process that does not end. When it ends, Python unwinds the
// threads that want the lock, up to version 3.13, but the views of arrays cannot end without the
// lock.
void TakeLock(void* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (abi::__forced_unwind&) {
    for (;;) pause();  // until the process has ended, as in Python 3.14
  }
}

// Gives up Python's lock while an object lives. Another thread cannot close the stepper then.
class WithoutLock {
 public:
  explicit WithoutLock(PyObject* capsule) : held_(HeldBy(capsule)) {
    ++held_->users;
    state_ = PyEval_SaveThread();
  }
  ~WithoutLock() {
    TakeLock(state_);
    --held_->users;
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  Held* const held_;
  void* state_;
};

void Free(PyObject* capsule) {
  const std::unique_ptr<Held> held(HeldBy(capsule));
  rnn_step_free(held->stepper);
}

// A capsule of a new stepper, or nullptr after setting an error.
PyObject* CapsuleOf(RnnStepper* stepper, const LockChoice& lock) {
  auto held = std::make_unique<Held>(Held{stepper, lock});
  PyObject* const capsule = PyCapsule_New(held.get(), kCapsule, &Free);
  if (capsule == nullptr) {
    rnn_step_free(stepper);
  } else {
    held.release();
  }
  return capsule;
}

PyObject* Raise(int code) {
  if (code == RNN_STEP_NO_MEMORY) {
    PyErr_SetString(PyExc_MemoryError, rnn_step_error());
  } else {
    PyErr_SetString(code == RNN_STEP_INVALID ? PyExc_ValueError : PyExc_RuntimeError,
                    rnn_step_error());
  }
  return nullptr;
}

PyObject* None() { return Py_BuildValue(""); }
PyObject* NoneOr(int code) { return code == RNN_STEP_OK ? None() : Raise(code); }

// Returns false after setting an error unless a call has `wanted` arguments.
bool HasArguments(Py_ssize_t count, Py_ssize_t wanted) {
  if (count == wanted) return true;
  PyErr_SetString(PyExc_TypeError, "wrong number of arguments");
  return false;
}

// The stepper of a call with at least one argument. Returns nullptr after setting an error.
RnnStepper* FirstArgument(PyObject* const* args, Py_ssize_t count) {
  if (count >= 1) return StepperOf(args[0]);
  HasArguments(count, 1);
  return nullptr;
}

// A view of a buffer that ends with the object.
class View {
 public:
  View() = default;
  ~View() {
    if (held_) PyBuffer_Release(&buffer_);
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  // Returns false after setting an error.
  bool Get(PyObject* object, int flags) {
    held_ = PyObject_GetBuffer(object, &buffer_, flags) == 0;
    return held_;
  }

  // Whether this is a dense array of exactly the type and shape of a tensor. Sets no error.
  bool Fits(PyObject* object, const RnnStepTensor& tensor, bool writable) {
    const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    if (!Get(object, flags)) {
      PyErr_Clear();
      return false;
    }
    const char* format = buffer_.format == nullptr ? "B" : buffer_.format;
    if (*format == '<' || *format == '=') ++format;
    if (std::strcmp(format, tensor.type == RNN_STEP_FLOAT32 ? "f" : "i") != 0) return false;
    if (buffer_.itemsize != 4 || buffer_.ndim != tensor.rank) return false;
    if (reinterpret_cast<uintptr_t>(buffer_.buf) % alignof(float) != 0) return false;
    for (int k = 0; k < tensor.rank; ++k) {
      if (buffer_.shape[k] != tensor.shape[k]) return false;
    }
    return true;
  }

  void* data() const { return buffer_.buf; }
  Py_ssize_t bytes() const { return buffer_.len; }

 private:
  Py_buffer buffer_;  // WHY no initializer: a call has 64 views, and uses few of them
  bool held_ = false;
};

// new(content, batch_size, time, threads): a stepper.
PyObject* New(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!HasArguments(count, 4)) return nullptr;
  const long long batch = PyLong_AsLongLong(args[1]), time = PyLong_AsLongLong(args[2]);
  const long long threads = PyLong_AsLongLong(args[3]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  View content;
  if (!content.Get(args[0], PyBUF_SIMPLE)) return nullptr;
  RnnStepper* stepper = nullptr;
  void* const state = PyEval_SaveThread();
  const int code =
      rnn_step_new(content.data(), static_cast<size_t>(content.bytes()), batch, time,
                   static_cast<int>(std::clamp<long long>(threads, INT_MIN, INT_MAX)), &stepper);
  TakeLock(state);
  if (code != RNN_STEP_OK) return Raise(code);
  if (rnn_step_num_inputs(stepper) + rnn_step_num_outputs(stepper) > kMostTensors) {
    rnn_step_free(stepper);
    PyErr_SetString(PyExc_ValueError, "The model has more than 64 inputs and outputs.");
    return nullptr;
  }
  return CapsuleOf(stepper, {});
}

// clone(stepper): a stepper that shares the weights.
PyObject* Clone(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!HasArguments(count, 1)) return nullptr;
  RnnStepper* const stepper = StepperOf(args[0]);
  if (stepper == nullptr) return nullptr;
  RnnStepper* clone = nullptr;
  const int code = rnn_step_clone(stepper, &clone);
  return code == RNN_STEP_OK ? CapsuleOf(clone, HeldBy(args[0])->lock) : Raise(code);
}

// close(stepper): frees its memory.
PyObject* Close(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!HasArguments(count, 1)) return nullptr;
  Held* const held = HeldBy(args[0]);
  if (held == nullptr) return nullptr;
  if (held->users > 0) {
    PyErr_SetString(PyExc_RuntimeError, "Another thread uses the stepper.");
    return nullptr;
  }
  rnn_step_free(held->stepper);
  held->stepper = nullptr;
  return None();
}

// Adds a new object to a list, and ends the caller's reference. Returns false if there is an error.
bool Add(PyObject* list, PyObject* item) {
  if (item == nullptr) return false;
  const bool added = PyList_Append(list, item) == 0;
  Py_DecRef(item);
  return added;
}

PyObject* ShapeOf(const RnnStepTensor& tensor) {
  PyObject* const shape = PyList_New(0);
  for (int i = 0; shape != nullptr && i < tensor.rank; ++i) {
    if (!Add(shape, PyLong_FromLongLong(tensor.shape[i]))) {
      Py_DecRef(shape);
      return nullptr;
    }
  }
  return shape;
}

PyObject* ListOf(const RnnStepper* stepper, int count,
                 RnnStepTensor (*get)(const RnnStepper* stepper, int k)) {
  PyObject* const list = PyList_New(0);
  for (int k = 0; list != nullptr && k < count; ++k) {
    const RnnStepTensor tensor = get(stepper, k);
    const char* type = tensor.type == RNN_STEP_FLOAT32 ? "float32" : "int32";
    // WHY no check: Py_BuildValue() fails if an object is null.
    if (!Add(list, Py_BuildValue("(ssNN)", tensor.name, type, ShapeOf(tensor),
                                 PyBool_FromLong(tensor.has_time)))) {
      Py_DecRef(list);
      return nullptr;
    }
  }
  return list;
}

// describe(stepper): B, T, whether it is one of windows, and the lists of inputs, outputs and
// states, each as (name, dtype, shape, has_time).
PyObject* Describe(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!HasArguments(count, 1)) return nullptr;
  const RnnStepper* const stepper = StepperOf(args[0]);
  if (stepper == nullptr) return nullptr;
  return Py_BuildValue("(LLNNNN)", static_cast<long long>(rnn_step_batch(stepper)),
                       static_cast<long long>(rnn_step_time(stepper)),
                       PyBool_FromLong(rnn_step_is_window(stepper)),
                       ListOf(stepper, rnn_step_num_inputs(stepper), &rnn_step_input),
                       ListOf(stepper, rnn_step_num_outputs(stepper), &rnn_step_output),
                       ListOf(stepper, rnn_step_num_states(stepper), &rnn_step_state));
}

// The arrays of a call.
struct Arrays {
  View views[kMostTensors];
  const void* inputs[kMostTensors];
  float* outputs[kMostTensors];
};

// Calls a stepper. Gives up Python's lock if its calls are long.
int CallWithLock(PyObject* capsule, RnnStepper* stepper, const RnnStepOptions* options,
                 const Arrays& arrays) {
  LockChoice& lock = HeldBy(capsule)->lock;
  const bool all_steps = options == nullptr || options->steps == rnn_step_time(stepper);
  const bool measures = lock.measures() && all_steps;
  const int64_t begin = measures ? NowNs() : 0;
  const auto call = [&] {
    return options == nullptr ? rnn_step_call(stepper, arrays.inputs, arrays.outputs)
                              : rnn_step_call_with(stepper, options, arrays.inputs, arrays.outputs);
  };
  int code = RNN_STEP_OK;
  int64_t ns = 0;
  const auto measured = [&] {
    code = call();
    ns = measures ? NowNs() - begin : 0;
  };
  if (lock.gives_up()) {
    const WithoutLock without(capsule);
    measured();
  } else {
    measured();
  }
  // A call that fails ends early.
  if (measures && code == RNN_STEP_OK) lock.Note(ns);
  return code;
}

// call(stepper, *inputs, *outputs): True, or False if an array does not have exactly the type and
// the shape of its tensor in dense memory; nothing has been computed then.
PyObject* CallStepper(PyObject*, PyObject* const* args, Py_ssize_t count) {
  RnnStepper* const stepper = FirstArgument(args, count);
  if (stepper == nullptr) return nullptr;
  const int num_inputs = rnn_step_num_inputs(stepper);
  const int num_outputs = rnn_step_num_outputs(stepper);
  if (!HasArguments(count, 1 + num_inputs + num_outputs)) return nullptr;
  Arrays arrays;
  for (int k = 0; k < num_inputs; ++k) {
    View& view = arrays.views[k];
    if (!view.Fits(args[1 + k], rnn_step_input(stepper, k), /*writable=*/false)) {
      return PyBool_FromLong(0);
    }
    arrays.inputs[k] = view.data();
  }
  for (int k = 0; k < num_outputs; ++k) {
    View& view = arrays.views[num_inputs + k];
    if (!view.Fits(args[1 + num_inputs + k], rnn_step_output(stepper, k), /*writable=*/true)) {
      return PyBool_FromLong(0);
    }
    arrays.outputs[k] = static_cast<float*>(view.data());
  }
  const int code = CallWithLock(args[0], stepper, nullptr, arrays);
  return code == RNN_STEP_OK ? PyBool_FromLong(1) : Raise(code);
}

// The bytes of a tensor in a call with fewer steps. `steps` is 0 for an output's last step.
int64_t BytesIn(const RnnStepTensor& tensor, int64_t time, int64_t steps) {
  const int64_t elements = tensor.elements * int64_t{sizeof(float)};
  return tensor.has_time ? elements / time * std::max<int64_t>(steps, 1) : elements;
}

// call_with(stepper, steps, last_step, idle, *inputs, *outputs): a call with other steps, or the
// last step of the outputs only. `idle` is a buffer of B bytes, or of none. The caller has checked
// the types of the arrays.
PyObject* CallStepperWith(PyObject*, PyObject* const* args, Py_ssize_t count) {
  constexpr int kOptions = 4;  // with the stepper
  RnnStepper* const stepper = FirstArgument(args, count);
  if (stepper == nullptr) return nullptr;
  const int num_inputs = rnn_step_num_inputs(stepper);
  const int num_outputs = rnn_step_num_outputs(stepper);
  if (!HasArguments(count, kOptions + num_inputs + num_outputs)) return nullptr;
  RnnStepOptions options = {};
  options.steps = PyLong_AsLongLong(args[1]);
  options.last_step = PyLong_AsLongLong(args[2]) != 0;
  if (PyErr_Occurred() != nullptr) return nullptr;
  View idle;
  if (!idle.Get(args[3], PyBUF_SIMPLE)) return nullptr;
  // No bytes: no row is idle.
  if (idle.bytes() == rnn_step_batch(stepper)) {
    options.idle = static_cast<const uint8_t*>(idle.data());
  }
  Arrays arrays;
  for (int k = 0; k < num_inputs + num_outputs; ++k) {
    const bool is_output = k >= num_inputs;
    const int flags = PyBUF_C_CONTIGUOUS | (is_output ? PyBUF_WRITABLE : 0);
    if (!arrays.views[k].Get(args[kOptions + k], flags)) return nullptr;
    const RnnStepTensor tensor =
        is_output ? rnn_step_output(stepper, k - num_inputs) : rnn_step_input(stepper, k);
    const int64_t steps = is_output && options.last_step ? 0 : options.steps;
    if (arrays.views[k].bytes() != BytesIn(tensor, rnn_step_time(stepper), steps)) {
      PyErr_SetString(PyExc_ValueError, "An array does not have the size of its tensor.");
      return nullptr;
    }
    if (is_output) {
      arrays.outputs[k - num_inputs] = static_cast<float*>(arrays.views[k].data());
    } else {
      arrays.inputs[k] = arrays.views[k].data();
    }
  }
  return NoneOr(CallWithLock(args[0], stepper, &options, arrays));
}

// reset(stepper, rows): `rows` is a buffer of int64 or None.
PyObject* Reset(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count == 1) {
    RnnStepper* const stepper = StepperOf(args[0]);
    return stepper == nullptr ? nullptr : NoneOr(rnn_step_reset(stepper, nullptr, 0));
  }
  if (!HasArguments(count, 2)) return nullptr;
  RnnStepper* const stepper = StepperOf(args[0]);
  View rows;
  if (stepper == nullptr || !rows.Get(args[1], PyBUF_SIMPLE)) return nullptr;
  // An empty list of rows has no memory, which would mean all rows.
  static const int64_t kNoRow = 0;
  const int64_t* const data =
      rows.bytes() == 0 ? &kNoRow : static_cast<const int64_t*>(rows.data());
  return NoneOr(rnn_step_reset(stepper, data, rows.bytes() / 8));
}

// update(stepper, content): takes over the model of a file.
PyObject* Update(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!HasArguments(count, 2)) return nullptr;
  RnnStepper* const stepper = StepperOf(args[0]);
  View content;
  if (stepper == nullptr || !content.Get(args[1], PyBUF_SIMPLE)) return nullptr;
  int code = RNN_STEP_OK;
  {
    const WithoutLock without(args[0]);
    code = rnn_step_update(stepper, content.data(), static_cast<size_t>(content.bytes()));
  }
  return NoneOr(code);
}

// The arrays of states in a call of Python: of the type and shape of the states, in dense memory,
// for all rows of the batch or for one.
class StateArrays {
 public:
  StateArrays(const RnnStepper* stepper, long long row)
      : stepper_(stepper),
        row_(row),
        views_(new View[rnn_step_num_states(stepper)]),
        data_(rnn_step_num_states(stepper)) {}

  // Returns false unless the array fits state k, or if there is another one for it. Sets no error.
  bool Add(long long k, PyObject* array, bool writable) {
    if (k < 0 || k >= static_cast<long long>(data_.size()) || data_[k] != nullptr) return false;
    RnnStepTensor state = rnn_step_state(stepper_, static_cast<int>(k));
    std::vector<int64_t> shape(state.shape, state.shape + state.rank);
    if (row_ >= 0) shape[0] = 1;
    state.shape = shape.data();
    if (!views_[k].Fits(array, state, writable)) return false;
    data_[k] = static_cast<float*>(views_[k].data());
    return true;
  }

  int Get(RnnStepper* stepper) const {
    return row_ < 0 ? rnn_step_get_states(stepper, data_.data())
                    : rnn_step_get_row(stepper, row_, data_.data());
  }
  int Set(RnnStepper* stepper) const {
    return row_ < 0 ? rnn_step_set_states(stepper, data_.data())
                    : rnn_step_set_row(stepper, row_, data_.data());
  }

 private:
  const RnnStepper* const stepper_;
  const long long row_;
  const std::unique_ptr<View[]> views_;
  std::vector<float*> data_;
};

// get_states(stepper, row, *arrays): copies all states to arrays; those of a row, or with -1 of
// all.
PyObject* GetStates(PyObject*, PyObject* const* args, Py_ssize_t count) {
  RnnStepper* const stepper = FirstArgument(args, count);
  if (stepper == nullptr || !HasArguments(count, 2 + rnn_step_num_states(stepper))) return nullptr;
  const long long row = PyLong_AsLongLong(args[1]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  StateArrays arrays(stepper, row);
  for (Py_ssize_t k = 2; k < count; ++k) {
    if (!arrays.Add(k - 2, args[k], /*writable=*/true)) {
      PyErr_SetString(PyExc_ValueError, "an array does not fit its state");
      return nullptr;
    }
  }
  return NoneOr(arrays.Get(stepper));
}

// set_states(stepper, row, k, array of state k, ...): True, or False if an array does not have
// exactly the type and the shape of its state in dense memory; nothing has been set then.
PyObject* SetStates(PyObject*, PyObject* const* args, Py_ssize_t count) {
  RnnStepper* const stepper = FirstArgument(args, count);
  if (stepper == nullptr || !HasArguments(count % 2, 0)) return nullptr;
  const long long row = PyLong_AsLongLong(args[1]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  StateArrays arrays(stepper, row);
  for (Py_ssize_t i = 2; i < count; i += 2) {
    const long long k = PyLong_AsLongLong(args[i]);
    if (PyErr_Occurred() != nullptr) return nullptr;
    if (!arrays.Add(k, args[i + 1], /*writable=*/false)) return PyBool_FromLong(0);
  }
  const int code = arrays.Set(stepper);
  return code == RNN_STEP_OK ? PyBool_FromLong(1) : Raise(code);
}

PyObject* Isa(PyObject*, PyObject* const*, Py_ssize_t count) {
  return HasArguments(count, 0) ? PyUnicode_FromString(rnn_step_isa()) : nullptr;
}

PyMethodDef methods[] = {
    {"new", &New, METH_FASTCALL, nullptr},
    {"clone", &Clone, METH_FASTCALL, nullptr},
    {"close", &Close, METH_FASTCALL, nullptr},
    {"describe", &Describe, METH_FASTCALL, nullptr},
    {"call", &CallStepper, METH_FASTCALL, nullptr},
    {"call_with", &CallStepperWith, METH_FASTCALL, nullptr},
    {"reset", &Reset, METH_FASTCALL, nullptr},
    {"update", &Update, METH_FASTCALL, nullptr},
    {"get_states", &GetStates, METH_FASTCALL, nullptr},
    {"set_states", &SetStates, METH_FASTCALL, nullptr},
    {"isa", &Isa, METH_FASTCALL, nullptr},
    {},
};

PyModuleDef definition = {};

}  // namespace

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__tf_rnn_ops_step_python() {
  definition.ob_base.ob_refcnt = 1;
  definition.m_name = "_tf_rnn_ops_step_python";
  definition.m_size = -1;
  definition.m_methods = methods;
  return PyModule_Create2(&definition, PYTHON_ABI_VERSION);
}
