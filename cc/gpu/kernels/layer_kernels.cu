// The entry points of the kernels of LayerRNN, which are a module of their own, so that only programs
// with such layers compile them. See kernels.cu.
#include "cc/gpu/kernels/cells/lstm_layer_norm.h"
#include "cc/gpu/kernels/kernel_list.h"
#include "cc/gpu/kernels/layer_kernels.h"

namespace rnn_ops::gpu::elementwise {

#define RNN_OPS_DEFINE(name, Args, function) \
  RNN_OPS_KERNEL void name(const Args args) { function(args); }
RNN_OPS_LAYER_KERNELS(RNN_OPS_DEFINE)
#undef RNN_OPS_DEFINE

}  // namespace rnn_ops::gpu::elementwise
