// The activations of one instruction set on arrays, from a separate shared object.
#ifndef TF_RNN_OPS_TESTS_CC_CPU_ACTIVATION_SAMPLES_H_
#define TF_RNN_OPS_TESTS_CC_CPU_ACTIVATION_SAMPLES_H_

#include <cstdint>

struct ActivationSamples {
  // n must be a multiple of 16.
  void (*sigmoid_float)(const float* x, float* y, int64_t n);
  void (*tanh_float)(const float* x, float* y, int64_t n);
  void (*sigmoid_double)(const double* x, double* y, int64_t n);
  void (*tanh_double)(const double* x, double* y, int64_t n);
};

extern "C" const ActivationSamples* tf_rnn_ops_activation_samples();

#endif  // TF_RNN_OPS_TESTS_CC_CPU_ACTIVATION_SAMPLES_H_
