// A model that runs T steps of B streams: its tensors, its states and its nodes in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/op/dtype.h"
#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/step/model_file.h"

namespace rnn_ops::step {

// Counts the memory of the programs of a model. They may have half of that of the process: the
// system promises more, and ends a process that uses it.
class Memory {
 public:
  Memory();
  // Whether there is room for `bytes` bytes and those that are planned.
  bool HasRoom(int64_t bytes) const { return most_ == 0 || bytes <= most_ - taken_ - planned_; }
  // Takes `bytes` bytes, if there is room.
  bool Take(int64_t bytes);
  void GiveBack(int64_t bytes) { taken_ -= bytes; }
  // Whether there is also room for `bytes` bytes, which Take() will take later.
  bool Plan(int64_t bytes);
  void ForgetPlan() { planned_ = 0; }

 private:
  int64_t most_;
  std::atomic<int64_t> taken_{0};  // a program may be freed while another one is built
  int64_t planned_ = 0;
};

// Memory aligned to 64 bytes, which `memory` counts while it exists.
class Block {
 public:
  // Replaces the memory by `bytes` zeros. `memory` must outlive the block.
  Status Resize(int64_t bytes, Memory* memory);
  int64_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }

 private:
  struct Free {
    Memory* memory;
    int64_t bytes;
    void operator()(void* data) const {
      std::free(data);
      memory->GiveBack(bytes);
    }
  };
  std::unique_ptr<void, Free> data_{nullptr, Free{nullptr, 0}};
  int64_t bytes_ = 0;
};

// Memory of weights that all programs of a model read.
class SharedBlock {
 public:
  SharedBlock() = default;
  explicit SharedBlock(const Block& block) : data_(block.as<void>()), bytes_(block.bytes()) {}
  int64_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// The weights of a model. Its first program writes them; later ones get the same blocks, in order.
struct Weights {
  Memory memory;  // of the weights and of all programs; destroyed after the blocks
  std::vector<Block> blocks;
  bool complete = false;
};

// Note [Memory of values]
// The nodes run in turn, so values that are never needed at the same time share memory. All of them
// lie in one block. Inputs and outputs of the model lie where the caller has them.
// A value is needed from the node that writes it to the last one that reads it. The scratch memory
// of a node is a value that only this node needs. An activation may write over its input, and a
// reshape makes another value of the same memory.

// Note [Windows]
// A model of windows has no stream: its states begin with zeros in each call, which gets the whole
// window. So no value has time, and no node has a state. A sequence is a value whose first dim is
// its number of steps, which a node may change. T is the number of steps of the window, for the
// caller only. A mask is a value of int32, [B]: the number of valid steps, which come first.

// A tensor between two nodes, [B, T, dims] or [B, dims].
struct Value {
  std::string name;
  ElementType type = ElementType::kFloat32;  // kOther: int32
  bool has_time = false;
  std::vector<int64_t> dims;  // without B and T
  int64_t rows = 0;           // B*T or B
  int64_t row_elements = 0;   // the product of dims
  int64_t most_steps = 0;     // of lengths: that of their sequence, otherwise 0
  void* data = nullptr;       // in the current call
  // The nodes from which on and until which it is needed: see Note [Memory of values].
  int64_t first = 0, last = 0;
  Value* over = nullptr;   // whose memory it may take, if that value is not needed any more
  Value* alias = nullptr;  // whose elements these are, unless an output of the call

  int64_t elements() const { return rows * row_elements; }
  int64_t columns() const { return dims.empty() ? 1 : dims.back(); }
  // The sizes of a sequence of a window.
  int64_t steps() const { return dims[0]; }
  int64_t step_elements() const { return row_elements / std::max<int64_t>(steps(), 1); }
  template <typename T = float>
  const T* in() const {
    return static_cast<const T*>(data);
  }
  float* out() const { return static_cast<float*>(data); }
};

// A state. The memory of all states belongs to the stream.
struct State {
  std::string name;
  std::vector<int64_t> shape;  // [B, ...]
  int64_t elements = 0;
  int64_t offset = 0;  // in the memory of the states, in elements
};

// The team and the states of a call, for its nodes: each call reads the states in one memory and
// writes them to another one.
struct Call {
  Team* team;
  float* states_before;
  float* states_after;
  float* before(const State& state) const { return states_before + state.offset; }
  float* after(const State& state) const { return states_after + state.offset; }
};

// A layer.
class Node {
 public:
  virtual ~Node() = default;
  virtual Status Run(const Call& call) = 0;
};

// One call at a time runs a program: it has the memory of a call. Its weights are those of a model.
struct Program {
  explicit Program(std::shared_ptr<Weights> of_model = std::make_shared<Weights>())
      : weights(std::move(of_model)) {}

  std::shared_ptr<Weights> weights;  // destroyed after all blocks
  size_t next_block = 0;             // of the weights, while the program is built
  bool last_step = false;            // whether outputs have the last step only; set before
  bool is_window = false;            // see Note [Windows]
  int64_t batch = 0;                 // B
  int64_t max_time = 0;              // T
  int threads = 1;                   // of the team of a call
  std::vector<std::unique_ptr<Value>> values;
  Block value_memory;
  std::vector<std::unique_ptr<State>> states;
  int64_t state_elements = 0;  // of the memory of all states
  std::vector<std::unique_ptr<Node>> nodes;
  struct Output {
    std::string name;
    Value* value;
    std::vector<int64_t> shape;
    int64_t bytes;
    // Whether the value is written where the caller wants it, instead of copied.
    bool in_place;
  };
  std::vector<Value*> inputs;
  std::vector<std::vector<int64_t>> input_shapes;
  std::vector<int64_t> input_bytes;
  std::vector<Output> outputs;
};

// Makes the program of a file for B, T and a number of threads. 0 as B or T: that of the file,
// or 1. If the weights of the program are complete, the data of the file are not read.
Status BuildProgram(const ModelFile& file, int64_t batch, int64_t max_time, int threads,
                    Program* program);

}  // namespace rnn_ops::step
