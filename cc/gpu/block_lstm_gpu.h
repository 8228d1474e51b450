// BlockLSTMV2 and its gradient on a GPU: cuBLAS for the products, elementwise/ for the rest.
#ifndef TF_RNN_OPS_CC_GPU_BLOCK_LSTM_GPU_H_
#define TF_RNN_OPS_CC_GPU_BLOCK_LSTM_GPU_H_

#include <cstdint>

#include "cc/core/network/dtype.h"
#include "cc/core/network/rnn_types.h"
#include "cc/core/status.h"
#include "cc/gpu/device_allocator.h"

namespace rnn_ops {
namespace gpu {

// One problem, already validated by MakeBlockLstmConfig().
struct BlockLstmProblem : BlockLstmConfig {
  Dtype dtype = Dtype::kFloat32;
  bool allow_tf32 = false;  // float32 products may round their operands to TF32
};

// Device pointers, as in TensorFlow's op; no output may overlap another tensor. Null is allowed
// where a tensor has no elements.
struct BlockLstmForwardArgs {
  BlockLstmProblem problem;
  const void* x;        // [T, B, I]
  const void* cs_prev;  // [B, H]
  const void* h_prev;   // [B, H]
  const void* w;        // [I + H, 4*H], columns i, f, ci, o
  const void* wci;      // [H]
  const void* wcf;      // [H]
  const void* wco;      // [H]
  const void* b;        // [4*H]
  void* i;              // [T, B, H], as the six below
  void* cs;
  void* f;
  void* o;
  void* ci;
  void* co;
  void* h;
};

struct BlockLstmBackwardArgs {
  BlockLstmProblem problem;
  const void *x, *cs_prev, *h_prev, *w, *wci, *wcf, *wco, *b;  // as in forward
  const void *i, *cs, *f, *o, *ci, *co, *h;                    // [T, B, H]
  const void *cs_grad, *h_grad;                                // [T, B, H]
  void* x_grad;                                                // [T, B, I]
  void* cs_prev_grad;                                          // [B, H]
  void* h_prev_grad;                                           // [B, H]
  void* w_grad;                                                // [I + H, 4*H]
  void* wci_grad;  // [H]; zeros without peephole, as the two below
  void* wcf_grad;  // [H]
  void* wco_grad;  // [H]
  void* b_grad;    // [4*H]
};

// Enqueue the whole call on `stream` (a CUstream), in the stream's context, and fill every output;
// B = 0, T = 0 and seq_len = 0 included. They do not wait for the device.
//
// FailedPrecondition where the driver or cuBLAS cannot be opened, ResourceExhausted where
// `allocator` has no memory, Internal with function and text where a call of theirs fails.
Status BlockLstmForward(const BlockLstmForwardArgs& args, DeviceAllocator* allocator, void* stream);
Status BlockLstmBackward(const BlockLstmBackwardArgs& args, DeviceAllocator* allocator,
                         void* stream);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_BLOCK_LSTM_GPU_H_
