// Packed weights that are kept between calls.
//
// Note [Kept weights]
// TensorFlow never writes to the memory of a resource variable's value while another tensor refers
// to that memory: assign replaces the value, and assign_add, optimizers and scatter updates copy
// the value first (PrepareToUpdateVariable and EnsureSparseVariableAccess in TensorFlow's
// training_op_helpers.h). Constants never change. If a tensor shares memory with an array (through
// DLPack, or as a value that a session was fed), the program must not write to that array.
// TensorFlow's own optimizations require this too. Variable.assign copies the array.
//
// So while an entry refers to a buffer, a tensor with the same buffer has the content that was
// packed. Once only the entry refers to the buffer, no call can pass these weights again, and the
// entry is dead. Dead entries are dropped when weights are packed with `keep`, and by every
// 64th lookup.
//
// After the first sparse update of a variable (scatter, slice assignment, sparse gradients), each
// read of the variable gives a copy. The weights of such a variable are packed at each call.
//
// Layers may share a tensor, so entries may share a buffer. The process holds one reference to each
// buffer, regardless of the number of entries. So the reference count of the buffer still shows
// whether anything else refers to it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/cpu/call/packed_header.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace rnn_ops::tf_kernels {

// Thread-safe.
class KeptWeights {
 public:
  // The object that the kernels use. Never destroyed.
  static KeptWeights& OfProcess();

  // Returns whether packed weights for exactly these tensors and `header` are kept, and sets
  // *packed. Occasionally drops dead entries.
  bool Find(const std::vector<tensorflow::Tensor>& weights, const cpu::PackedHeader& header,
            tensorflow::Tensor* packed);

  // Replaces the entry for these weights and this network, if there is one.
  void Keep(const std::vector<tensorflow::Tensor>& weights, const tensorflow::Tensor& packed);

 private:
  // The process's only reference to a buffer: any tensor with that buffer.
  using Holder = std::shared_ptr<tensorflow::Tensor>;

  // One of the tensors that were packed.
  struct Weight {
    Holder holder;
    const void* data;
    tensorflow::DataType dtype;
    tensorflow::TensorShape shape;

    bool Is(const tensorflow::Tensor& tensor) const;
  };

  struct Entry {
    std::vector<Weight> weights;
    tensorflow::Tensor packed;

    bool IsOf(const std::vector<tensorflow::Tensor>& tensors,
              const cpu::PackedHeader& header) const;
    bool IsDead() const;
  };

  // Removes and returns the entries for which `drops`(entry) is true.
  template <typename Drops>
  std::vector<Entry> Drop(const Drops& drops);
  // `made`: a new entry that is not in entries_ yet.
  Holder HolderOf(const tensorflow::Tensor& tensor, const Entry& made) const;

  std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t calls_ = 0;  // the number of calls of Find
};

}  // namespace rnn_ops::tf_kernels
