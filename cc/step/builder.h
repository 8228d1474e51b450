// Reads the graph of a file into a Program, node by node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/status.h"
#include "cc/step/program.h"

namespace rnn_ops::step {

// A node of the file while it is read. Every function fails with a part of a sentence.
class NodeReader {
 public:
  NodeReader(const ModelFile& file, const Json& node, Program* program,
             std::map<std::string, Value*>* values, std::set<std::string>* states)
      : file_(file), node_(node), program_(*program), values_(*values), states_(*states) {}

  int64_t batch() const { return program_.batch; }
  int64_t max_time() const { return program_.max_time; }
  bool is_window() const { return program_.is_window; }
  int threads() const { return program_.threads; }
  Memory* memory() const { return &program_.weights->memory; }

  template <typename T>
  Status Field(const std::string& name, T* value) const {
    return ReadField(node_, name, value);
  }
  bool Has(const std::string& name) const { return node_.Find(name) != nullptr; }
  const Json& json() const { return node_; }

  // The inputs: `count` of them, or at least one with 0. All float32 unless the node reads tokens.
  Status Inputs(size_t count, std::vector<Value*>* inputs, bool tokens = false) const;
  // Input 0 of a node that has one.
  Status Input(Value** input) const;
  // The inputs of a node of windows, all float32 and at most `most`. Behind them may come lengths,
  // if the field 'lengths' is true; otherwise *lengths is null.
  Status InputsOfWindow(size_t most, std::vector<Value*>* inputs, Value** lengths) const;
  // The only one, which is a sequence.
  Status InputOfWindow(Value** input, Value** lengths) const;
  // Returns InvalidArgument unless a value is a sequence of a window, of such lengths.
  Status CheckSequence(const Value& value, const Value* lengths) const;
  // Adds output k, of shape [B, T, dims] or [B, dims].
  Status Output(size_t k, bool has_time, const std::vector<int64_t>& dims, Value** value);
  // Output 0, which has the shape of an input. The node may write it over this input.
  Status OutputOver(Value* input, Value** value);
  // Output 0, which has the elements of an input in other dims. The node copies nothing if the
  // output has an alias in a call.
  Status OutputOfSameElements(Value* input, const std::vector<int64_t>& dims, Value** value);
  bool WantsOutput(size_t k) const;

  // The weights by their names in the node. *tensor is null if the node has no such weights.
  Status Weights(const std::string& name, const StoredTensor** tensor) const;
  // Float32 weights of one shape, copied for Make() if the node writes its weights. With `optional`
  // they may be absent.
  Status Weights(const std::string& name, const std::vector<int64_t>& shape, Block* copy,
                 bool optional = false) const;
  // The same, for all programs of the model.
  Status Weights(const std::string& name, const std::vector<int64_t>& shape, SharedBlock* shared,
                 bool optional = false) const;

  // Whether this is the first program of the model. Only then Make() writes to shared memory, and
  // tensors have data.
  bool WritesWeights() const { return !program_.weights->complete; }
  // Takes memory for all programs of the model.
  Status Share(int64_t bytes, SharedBlock* shared) const;
  // Takes memory for the data of a tensor, with a copy of them.
  Status Share(const StoredTensor& tensor, SharedBlock* shared) const;

  // Returns InvalidArgument if the node has weights that were not read.
  Status CheckAllWeightsRead() const;

  // Memory of `rows` times `row_bytes` bytes that the node needs only while it runs.
  Status Scratch(const std::string& what, int64_t rows, int64_t row_bytes, Value** scratch);
  // Takes memory of the node for calls; its bytes are the product of `sizes`.
  Status Allocate(const std::string& what, const std::vector<int64_t>& sizes, Block* block);
  // Adds state k, [B, dims].
  Status NewState(size_t k, const std::vector<int64_t>& dims, State** state);

 private:
  Status Find(const std::string& name, Value** value) const;
  // Float32 weights of one shape, or null.
  Status FindWeights(const std::string& name, const std::vector<int64_t>& shape, bool optional,
                     const StoredTensor** tensor) const;

  int64_t number() const { return static_cast<int64_t>(program_.nodes.size()); }  // of the node

  const ModelFile& file_;
  const Json& node_;
  Program& program_;
  std::map<std::string, Value*>& values_;
  std::set<std::string>& states_;       // the names of all nodes
  mutable std::set<std::string> read_;  // the names of the weights
};

// The parts of `span` steps, `stride` apart, of a sequence between the steps of `padding`, such as
// [2, 0] in front of it: the steps in front of it, and the number of parts.
Status CountWindows(int64_t steps, int64_t span, int64_t stride,
                    const std::vector<int64_t>& padding, int64_t* before, int64_t* count);

// A node of the class T. `args`: more arguments of its Make().
template <typename T, typename... Args>
Status MakeNodeOf(NodeReader* reader, std::unique_ptr<Node>* node, Args... args) {
  auto made = std::make_unique<T>();
  RNN_OPS_RETURN_IF_ERROR(made->Make(reader, args...));
  *node = std::move(made);
  return Status();
}

// Each makes a node of one op.
using MakeNode = Status (*)(NodeReader* reader, std::unique_ptr<Node>* node);

Status MakeRnnNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeDenseNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeQuantizedDenseNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeConvNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeActivationNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeScaleNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeNormNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeEmbeddingNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeCastNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeCombineNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeConcatenateNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeReshapeNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeLastStepNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeLengthsNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeMaskNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeReverseNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeCropNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakeRepeatNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakePoolNode(NodeReader* reader, std::unique_ptr<Node>* node);
Status MakePermuteNode(NodeReader* reader, std::unique_ptr<Node>* node);

}  // namespace rnn_ops::step
