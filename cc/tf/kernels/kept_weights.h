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
// that buffer too. Once nobody else refers to it, these weights cannot come again, and the next
// call that packs and keeps drops the entry.
//
// A variable that was ever updated sparsely (scatter, slice assignment, sparse gradients) gives a
// copy at each reading from then on. Its weights are packed at each call. Entries that share a
// tensor replace each other.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_KEPT_WEIGHTS_H_
#define TF_RNN_OPS_CC_TF_KERNELS_KEPT_WEIGHTS_H_

#include <mutex>
#include <vector>

#include "cc/cpu/packed_header.h"
#include "tensorflow/core/framework/tensor.h"

namespace rnn_ops {
namespace tf_kernels {

// Thread-safe.
class KeptWeights {
 public:
  // The one that the kernels use; never destroyed.
  static KeptWeights& OfProcess();

  // Whether the packed weights of these very tensors are kept for `header`; sets *packed.
  bool Find(const std::vector<tensorflow::Tensor>& weights, const cpu::PackedHeader& header,
            tensorflow::Tensor* packed);

  // Does nothing for tensors that share memory with each other.
  void Keep(std::vector<tensorflow::Tensor> weights, const tensorflow::Tensor& packed);

 private:
  struct Entry {
    std::vector<tensorflow::Tensor> weights;
    tensorflow::Tensor packed;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;  // no two have a tensor in common
};

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_KEPT_WEIGHTS_H_
