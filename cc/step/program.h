// A model that runs T steps of B streams: its tensors, its states and its nodes in order.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cc/core/op/dtype.h"
#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/step/model_file.h"

namespace rnn_ops::step {

// Memory aligned to 64 bytes.
class Block {
 public:
  // Replaces the memory by `bytes` zeros.
  Status Resize(int64_t bytes);
  int64_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  std::unique_ptr<void, Free> data_;
  int64_t bytes_ = 0;
};

// A tensor between two nodes, [B, T, dims] or [B, dims].
struct Value {
  std::string name;
  ElementType type = ElementType::kFloat32;  // kOther: int32
  bool has_time = false;
  std::vector<int64_t> dims;  // without B and T
  int64_t rows = 0;           // B*T or B
  int64_t row_elements = 0;   // the product of dims
  Block memory;               // unless an input of the model, or written to an output of the call
  void* data = nullptr;       // in the current call

  int64_t elements() const { return rows * row_elements; }
  int64_t columns() const { return dims.empty() ? 1 : dims.back(); }
  template <typename T = float>
  const T* in() const {
    return static_cast<const T*>(data);
  }
  float* out() const { return static_cast<float*>(data); }
};

// A state, which each call reads in one buffer and writes in the other.
struct State {
  std::string name;
  std::vector<int64_t> shape;  // [B, ...]
  int64_t elements = 0;
  Block buffers[2];
};

// The team and the states of a call, for its nodes.
struct Call {
  Team* team;
  int from;  // the buffers of states to read
  float* before(const State& state) const { return state.buffers[from].as<float>(); }
  float* after(const State& state) const { return state.buffers[1 - from].as<float>(); }
};

// A layer.
class Node {
 public:
  virtual ~Node() = default;
  virtual Status Run(const Call& call) = 0;
};

struct Program {
  int64_t batch = 0;     // B
  int64_t max_time = 0;  // T
  int threads = 1;       // of the team of a call
  int64_t bytes = 0;     // about the memory of all values and nodes
  std::vector<std::unique_ptr<Value>> values;
  std::vector<std::unique_ptr<State>> states;
  std::vector<std::unique_ptr<Node>> nodes;
  struct Output {
    std::string name;
    Value* value;
    std::vector<int64_t> shape;
    // Whether the value is written where the caller wants it, instead of copied.
    bool in_place;
  };
  std::vector<Value*> inputs;
  std::vector<std::vector<int64_t>> input_shapes;
  std::vector<Output> outputs;
};

// Makes the program of a file for B, T and a number of threads. 0 as B or T: that of the file,
// or 1.
Status BuildProgram(const ModelFile& file, int64_t batch, int64_t max_time, int threads,
                    Program* program);

}  // namespace rnn_ops::step
