// The data pointers of the tensors of one call.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cc/core/check.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/op_spec.h"

namespace rnn_ops {

// Plain data, so kernels for every instruction set read the same layout. A pointer is null if the
// op has no such tensor or the call does not use the tensor.
//
// In a gradient op, an argument may name two tensors: the input, and the output that is the
// gradient of the input.
class CallTensors {
 public:
  void SetInput(Arg arg, const void* data, ElementType type, int64_t elements) {
    inputs_[Index(arg)] = {data, elements, type};
  }
  void SetOutput(Arg arg, void* data, ElementType type, int64_t elements) {
    outputs_[Index(arg)] = {data, elements, type};
  }

  // T must be the type of the elements; void if the caller does not access them.
  template <typename T = void>
  const T* in(Arg arg) const {
    RNN_DCHECK(IsOf<T>(inputs_[Index(arg)]));
    return static_cast<const T*>(inputs_[Index(arg)].data);
  }
  template <typename T = void>
  T* out(Arg arg) const {
    RNN_DCHECK(IsOf<T>(outputs_[Index(arg)]));
    return static_cast<T*>(outputs_[Index(arg)].data);
  }
  ElementType in_type(Arg arg) const { return inputs_[Index(arg)].type; }
  ElementType out_type(Arg arg) const { return outputs_[Index(arg)].type; }
  int64_t in_elements(Arg arg) const { return inputs_[Index(arg)].elements; }
  int64_t out_elements(Arg arg) const { return outputs_[Index(arg)].elements; }

 private:
  // WHY no initializers: one memset clears the arrays.
  template <typename Data>
  struct Tensor {
    Data* data;
    int64_t elements;
    ElementType type;
  };

  template <typename T, typename Data>
  static bool IsOf(const Tensor<Data>& tensor) {
    if constexpr (std::is_void_v<T>) {
      return true;
    } else {
      // XLA passes an address also for a tensor without elements.
      return tensor.elements == 0 || tensor.type == kElementType<T>;
    }
  }

  Tensor<const void> inputs_[kNumArgs] = {};
  Tensor<void> outputs_[kNumArgs] = {};
};

}  // namespace rnn_ops
