#include "tests/cc/cpu/activation_samples.h"

#include "cc/cpu/simd/vec.h"

namespace {

namespace isa = rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE;

template <typename T>
void Sigmoid(const T* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; i += isa::kLanes<T>) {
    isa::Store(y + i, isa::Sigmoid<T>(isa::Load(x + i)));
  }
}

template <typename T>
void Tanh(const T* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; i += isa::kLanes<T>) {
    isa::Store(y + i, isa::Tanh<T>(isa::Load(x + i)));
  }
}

constexpr ActivationSamples kSamples = {Sigmoid<float>, Tanh<float>, Sigmoid<double>, Tanh<double>};

}  // namespace

__attribute__((visibility("default"))) const ActivationSamples* tf_rnn_ops_activation_samples() {
  return &kSamples;
}
