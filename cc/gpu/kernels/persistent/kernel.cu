// One persistent kernel, which tools/generate_ptx.py chooses by macros. A call in it would move
// registers to memory, so everything is inline.
#define RNN_OPS_INLINE_CALLS
#include "cc/gpu/kernels/cells/gru.h"
#include "cc/gpu/kernels/cells/lstm.h"
#include "cc/gpu/kernels/cells/vanilla.h"
#include "cc/gpu/kernels/persistent/persistent_backward.h"
#include "cc/gpu/kernels/persistent/persistent_forward.h"

namespace rnn_ops::gpu::elementwise {

RNN_OPS_KERNEL void __launch_bounds__(kThreads, 1) RNN_OPS_NAME(const RNN_OPS_ARGS args) {
  RNN_OPS_RUN<RNN_OPS_CELL, RNN_OPS_OPERAND, RNN_OPS_WIDTH, RNN_OPS_TILE, RNN_OPS_GENERAL>(args);
}

}  // namespace rnn_ops::gpu::elementwise
