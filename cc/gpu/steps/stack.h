// CudnnRNNV3 and its gradient without cuDNN: the layers and directions of a stack as calls of the
// engine of LayerRNN (layer.h).
#pragma once

#include <cstdint>
#include <vector>

#include "cc/core/op/param_layout.h"
#include "cc/core/status.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/memory/device_allocator.h"
#include "cc/gpu/problem/layer_problem.h"
#include "cc/gpu/problem/stack_problem.h"

namespace rnn_ops::gpu {

// The code of these functions in RnnForwardArgs::algorithm. The codes of cuDNN's algorithms end at
// 32.
constexpr int8_t kStackAlgorithm = 33;

// The size of the reserve space. Depends on nothing but the problem, without its lengths.
int64_t StackReserveBytes(const StackProblem& problem);

// The functions of rnn_gpu.h, for problems that have a step. Differences:
// - `algorithm` does not affect the results beyond rounding, and both algorithms share reserve
//   spaces.
// - The masks of dropout are those of the CPU for the key `dropout_seed`. A generator is not used.
// - A reserve space of the right size from another problem gives gradients of NaN.
Status RunStackForward(const ProductLibraries& libraries, LayerAlgorithm algorithm,
                       const RnnForwardArgs& args, const RnnGpuCall& call);
Status RunStackBackward(const ProductLibraries& libraries, LayerAlgorithm algorithm,
                        const RnnBackwardArgs& args, const RnnGpuCall& call);

// The common part of both passes of a stack: memory, sequences between the layers, states.

// The parts of the reserve space: a header, the reserve space of each pseudo-layer, and the output
// [T, B, S] of each one below the last layer. The header holds the key of the dropout.
struct StackReserve {
  explicit StackReserve(const StackProblem& problem);
  int64_t layer_at(int64_t pseudo) const { return header + pseudo * layer; }
  int64_t output_at(int64_t pseudo) const { return outputs + pseudo * output; }

  int64_t header, layer, outputs, output, bytes;
};

// A sequence tensor in memory, or some of its columns: the first element, and the elements from one
// row to the next. A reversed sequence begins with the last valid step of each row of the batch.
struct SequenceView {
  const void* data;
  int64_t row_size;
  bool time_major = true;
  bool reversed = false;
};

// The steps of a pseudo-layer are time-major, and those of a backward direction are reversed.
class StackCall {
 public:
  // `purpose`s of scratch memory appear in errors. All arguments must outlive this object.
  StackCall(const ProductLibraries& libraries, const StackProblem& problem, const RnnGpuCall& call);

  // Prepares products and copies the lengths to the device if a row has fewer than T steps. Call it
  // before the other functions.
  Status Begin();

  // The problem and the inputs of a pseudo-layer, whose scratch memory replaces that of the one
  // before. `x`, `params`: of the network. The outputs of the layer below must be in `outputs`.
  Status BeginLayer(int64_t layer, int64_t dir, const void* x, const void* params,
                    LayerProblem* problem, LayerInputs* in);

  // Masks of dropout come from the key in `header`. Forward stores `key` there first.
  void UseKey(void* header) { header_ = header; }
  void StoreKey(uint64_t key, void* header) { key_ = key, stores_key_ = true, header_ = header; }

  // to = from, with zeros behind the ends of rows.
  Status Move(const SequenceView& from, const SequenceView& to, int64_t width) const {
    return Move(from, to, width, kNone, 0, false);
  }
  // to += from.
  Status MoveAndAdd(const SequenceView& from, const SequenceView& to, int64_t width) const {
    return Move(from, to, width, kNone, 0, true);
  }
  // to = from times the masks of the columns from `column` on of the output of `layer`.
  Status MoveAndDrop(const SequenceView& from, const SequenceView& to, int64_t width, int64_t layer,
                     int64_t column) const {
    return Move(from, to, width, layer, column, false);
  }

  // States [L*D, B, width]: `states` itself, or scratch memory if the states are [B, L*D, width].
  Status StatesIn(const void* states, int64_t width, const void** ours) const;
  Status StatesOut(void* states, int64_t width, void** ours) const;
  Status FinishStates(void* states, int64_t width, const void* ours) const;

  // Memory of the whole call, in elements of the tensors.
  Status Keep(const char* purpose, int64_t size, void** memory) const;

  SequenceView User(const void* tensor, int64_t row_size) const {
    return {tensor, row_size, p_.time_major, false};
  }
  // The part of a direction in a tensor with the outputs of all directions.
  SequenceView Columns(SequenceView all, int64_t dir) const {
    all.data = At(all.data, p_.dtype, dir * p_.hidden_size());
    return all;
  }
  SequenceView Ours(const void* tensor, int64_t row_size, int64_t dir) const {
    return {tensor, row_size, true, dir == 1};
  }

  const ProductCall& products() const { return products_; }
  const ParamLayout& layout() const { return layout_; }
  int64_t rows() const { return p_.max_time * p_.batch; }
  bool drops() const { return rate_ > 0; }
  int64_t Pseudo(int64_t layer, int64_t dir) const { return layer * p_.num_dirs() + dir; }

  std::vector<void*> outputs;               // [T, B, S] of each pseudo-layer
  const void *h0 = nullptr, *c0 = nullptr;  // initial states [L*D, B, .]

 private:
  static constexpr int64_t kNone = -1;  // no layer
  Status Move(const SequenceView& from, const SequenceView& to, int64_t width, int64_t layer,
              int64_t column, bool adds) const;
  Status Input(int64_t layer, int64_t dir, const void* user, const void** x) const;
  bool swaps_states() const { return !p_.time_major && p_.num_pseudo_layers() > 1; }

  const ProductLibraries& libraries_;
  const StackProblem& p_;
  const RnnGpuCall& call_;
  const ParamLayout layout_;
  RecyclingAllocator layer_memory_;
  ProductCall products_;
  const float rate_;
  const int32_t* lengths_ = nullptr;  // null: all T
  uint64_t key_ = 0;
  bool stores_key_ = false;
  void* header_ = nullptr;
};

}  // namespace rnn_ops::gpu
