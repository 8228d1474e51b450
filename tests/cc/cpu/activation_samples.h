// The activations of one instruction set on arrays, from a separate shared object.
#pragma once

#include <cstdint>

struct ActivationSamples {
  // n must be a multiple of 16.
  void (*sigmoid_float)(const float* x, float* y, int64_t n);
  void (*tanh_float)(const float* x, float* y, int64_t n);
  void (*sigmoid_double)(const double* x, double* y, int64_t n);
  void (*tanh_double)(const double* x, double* y, int64_t n);
};

extern "C" const ActivationSamples* tf_rnn_ops_activation_samples();
