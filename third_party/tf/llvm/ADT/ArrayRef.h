// Stands in for LLVM's header: TensorFlow 2.19 includes it in xla/stream_executor and leaves it out
// of its package. Enough to declare what nobody here calls.
#ifndef TF_RNN_OPS_THIRD_PARTY_TF_LLVM_ADT_ARRAYREF_H_
#define TF_RNN_OPS_THIRD_PARTY_TF_LLVM_ADT_ARRAYREF_H_

#include "llvm/ADT/SmallVector.h"

namespace llvm {

template <typename T>
class ArrayRef {
 public:
  ArrayRef(const SmallVector<T>&) {}  // NOLINT: implicit, as LLVM's
};

}  // namespace llvm

#endif  // TF_RNN_OPS_THIRD_PARTY_TF_LLVM_ADT_ARRAYREF_H_
