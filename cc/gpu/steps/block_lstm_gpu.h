// BlockLSTMV2 and its gradient on a GPU. cuBLAS computes the products, and the kernels of
// elementwise/ compute the rest.
#pragma once

#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_types.h"
#include "cc/core/status.h"
#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu {

// One problem that MakeBlockLstmConfig() has validated.
struct BlockLstmProblem : BlockLstmConfig {
  Dtype dtype = Dtype::kFloat32;
  bool allow_tf32 = false;  // float32 products may round their operands to TF32
};

// Device pointers, as in TensorFlow's op. No output may overlap another tensor. A pointer may be
// null if its tensor has no elements.
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
  void* i;              // [T, B, H], like the six below
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
  void* wci_grad;  // [H]; set to zero without peephole, like the two below
  void* wcf_grad;  // [H]
  void* wco_grad;  // [H]
  void* b_grad;    // [4*H]
};

// The functions enqueue the whole call on `stream` (a CUstream), in the context of the stream, and
// fill every output, also for B = 0, T = 0 or seq_len = 0. They do not wait for the device.
//
// Errors: FailedPrecondition if the driver or cuBLAS cannot be opened, ResourceExhausted if
// `allocator` has no memory, Internal with the function and its text if a call of the driver or
// cuBLAS fails.
Status BlockLstmForward(const BlockLstmForwardArgs& args, DeviceAllocator* allocator, void* stream);
Status BlockLstmBackward(const BlockLstmBackwardArgs& args, DeviceAllocator* allocator,
                         void* stream);

}  // namespace rnn_ops::gpu
