// The data pointers of the tensors of one call.
#ifndef TF_RNN_OPS_CC_CORE_NETWORK_CALL_TENSORS_H_
#define TF_RNN_OPS_CC_CORE_NETWORK_CALL_TENSORS_H_

#include <cstdint>

#include "cc/core/network/arg.h"

namespace rnn_ops {

// Plain data, so kernels for every instruction set read the same layout. A pointer is null if the
// op has no such tensor or the call does not use the tensor.
class CallTensors {
 public:
  // `elements`: the number of elements if the tensor has the op's type T, otherwise 0.
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
  // In a gradient op, the output is the gradient of the input `arg`.
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
