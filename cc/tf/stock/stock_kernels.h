// A list of CPU kernels for TensorFlow's own CudnnRNN ops. register.cc decides at load time which
// of them to register.
#pragma once

#include <vector>

#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {

struct StockKernel {
  const char* op;
  tensorflow::OpKernel* (*create)(tensorflow::OpKernelConstruction* context);
};

// One kernel for each of the eleven ops.
std::vector<StockKernel> StockKernels();

}  // namespace rnn_ops::tf_kernels
