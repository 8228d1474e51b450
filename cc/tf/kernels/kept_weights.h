// Packed weights that are kept from call to call.
//
// Note [Kept weights]
// TensorFlow does not write to the memory of a resource variable's value while another tensor
// refers to it: assign replaces the value, and assign_add, optimizers and scatter updates copy it
// first (PrepareToUpdateVariable and EnsureSparseVariableAccess in TensorFlow's
// training_op_helpers.h). Constants never change. (A tensor that shares memory with an array must
// not be written to from there, be it through DLPack or as a value that a session was fed;
// TensorFlow's own optimisations count on that too. Variable.assign copies.) So a tensor that
// refers to the buffer of an entry has the content that was packed, as long as the entry refers to
// that buffer too. Once nobody else refers to it, these weights cannot come again. The entry is
// dropped when weights are packed and kept, and by one of 64 calls that find theirs.
//
// A variable that was ever updated sparsely (scatter, slice assignment, sparse gradients) gives a
// copy at each reading from then on. Its weights are packed at each call.
//
// Layers may share a tensor, so entries do: the process refers to each buffer once, however many
// entries have a tensor in it. So the count of references to the buffer still tells when nobody
// else holds it.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_KEPT_WEIGHTS_H_
#define TF_RNN_OPS_CC_TF_KERNELS_KEPT_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/cpu/packed_header.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace rnn_ops {
namespace tf_kernels {

// Thread-safe.
class KeptWeights {
 public:
  // The one that the kernels use; never destroyed.
  static KeptWeights& OfProcess();

  // Whether the packed weights of these very tensors are kept for `header`; sets *packed. Now and
  // then it drops the entries whose weights cannot come again.
  bool Find(const std::vector<tensorflow::Tensor>& weights, const cpu::PackedHeader& header,
            tensorflow::Tensor* packed);

  // Replaces the entry of these weights and of this network, if there is one.
  void Keep(const std::vector<tensorflow::Tensor>& weights, const tensorflow::Tensor& packed);

 private:
  // The only reference of the process to a buffer, by some tensor in it.
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

  // Takes the entries out of which `drops`(entry) is true.
  template <typename Drops>
  std::vector<Entry> Drop(const Drops& drops);
  // `made`: an entry that is not among the others yet.
  Holder HolderOf(const tensorflow::Tensor& tensor, const Entry& made) const;

  std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t calls_ = 0;  // of Find
};

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_KEPT_WEIGHTS_H_
