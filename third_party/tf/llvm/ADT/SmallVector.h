// Stands in for LLVM's header; see ArrayRef.h.
#ifndef TF_RNN_OPS_THIRD_PARTY_TF_LLVM_ADT_SMALLVECTOR_H_
#define TF_RNN_OPS_THIRD_PARTY_TF_LLVM_ADT_SMALLVECTOR_H_

namespace llvm {

template <typename T>
class SmallVector {};

}  // namespace llvm

#endif  // TF_RNN_OPS_THIRD_PARTY_TF_LLVM_ADT_SMALLVECTOR_H_
