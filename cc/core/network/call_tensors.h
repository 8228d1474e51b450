// The memory of the tensors of one call.
#ifndef TF_RNN_OPS_CC_CORE_NETWORK_CALL_TENSORS_H_
#define TF_RNN_OPS_CC_CORE_NETWORK_CALL_TENSORS_H_

#include <cstdint>

#include "cc/core/network/arg.h"

namespace rnn_ops {

// Plain data, which kernels of every instruction set read as it is. Null: the op has no such
// tensor, or the call does not use it.
class CallTensors {
 public:
  // `elements`: of a tensor of the op's type T; 0 of the others.
  void SetInput(Arg arg, const void* data, int64_t elements) {
    inputs_[Index(arg)] = data;
    elements_[Index(arg)] = elements;
  }
  void SetOutput(Arg arg, void* data, int64_t elements) {
    outputs_[Index(arg)] = data;
    elements_[Index(arg)] = elements;
  }

  template <typename T = void>
  const T* in(Arg arg) const {
    return static_cast<const T*>(inputs_[Index(arg)]);
  }
  // Of a gradient op: the gradient of this input.
  template <typename T = void>
  T* out(Arg arg) const {
    return static_cast<T*>(outputs_[Index(arg)]);
  }
  int64_t elements(Arg arg) const { return elements_[Index(arg)]; }

 private:
  const void* inputs_[kNumArgs] = {};
  void* outputs_[kNumArgs] = {};
  int64_t elements_[kNumArgs] = {};
};

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_NETWORK_CALL_TENSORS_H_
