// A list of CPU kernels for TensorFlow's own CudnnRNN ops. register.cc decides at load time which
// of them to register.
#ifndef TF_RNN_OPS_CC_TF_STOCK_STOCK_KERNELS_H_
#define TF_RNN_OPS_CC_TF_STOCK_STOCK_KERNELS_H_

#include <vector>

#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {

struct StockKernel {
  const char* op;
  tensorflow::OpKernel* (*create)(tensorflow::OpKernelConstruction* context);
};

// One kernel for each of the eleven ops.
std::vector<StockKernel> StockKernels();

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_STOCK_STOCK_KERNELS_H_
