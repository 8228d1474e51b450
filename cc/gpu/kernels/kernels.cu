// The entry points of the kernels. tools/generate_ptx.py compiles this file with NVRTC to
// kernels.ptx, and tests compile it with the host compiler.
#include "cc/gpu/kernels/block_lstm_kernels.h"
#include "cc/gpu/kernels/kernel_list.h"
#include "cc/gpu/kernels/tensor_kernels.h"

namespace rnn_ops::gpu::elementwise {

#define RNN_OPS_DEFINE(name, Args, function) \
  RNN_OPS_KERNEL void name(const Args args) { function(args); }
RNN_OPS_ELEMENTWISE_KERNELS(RNN_OPS_DEFINE)
#undef RNN_OPS_DEFINE

}  // namespace rnn_ops::gpu::elementwise
