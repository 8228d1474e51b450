// A call of LayerRNN or BlockLSTMV2 on a GPU.
#pragma once

#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_types.h"

namespace rnn_ops::gpu {

// A validated problem of one layer and one direction, with weights in Keras's layout.
struct LayerProblem : LayerConfig {
  Dtype dtype = Dtype::kFloat32;
  bool allow_tf32 = false;  // float32 products may round their operands to TF32
};

// Device pointers, with the names and shapes of the op. A pointer is null if the call has no such
// tensor or the tensor has no elements. No output may overlap another tensor.
struct LayerInputs {
  const void *x, *h0, *c0;
  const void *kernel, *recurrent_kernel, *bias, *projection, *peepholes, *layer_norm;
  // The scales of the columns of int8 weights, in inference; null: the weights have the type of the
  // tensors.
  const float *kernel_scale, *recurrent_kernel_scale, *projection_scale;
  const int32_t* lengths;  // [B]; null: all T. The results of a row whose length is outside of
                           // [0, T] are NaN
  const void *input_mask, *recurrent_mask;
  const int64_t* seed;  // [2], if the problem draws
};

// How the steps run. Both compute the same and share reserve spaces.
enum class LayerAlgorithm {
  kSteps,       // a product and a kernel for each step
  kPersistent,  // all steps in one kernel where there is one, see persistent_steps.h
};

struct LayerForwardArgs {
  LayerProblem problem;
  LayerAlgorithm algorithm = LayerAlgorithm::kSteps;
  LayerInputs in;
  void *y, *h_n, *c_n;
  void* reserve;  // LayerReserveBytes() in training, aligned to 16
};

struct LayerBackwardArgs {
  LayerProblem problem;
  LayerAlgorithm algorithm = LayerAlgorithm::kSteps;
  LayerInputs in;
  const void *y, *dy, *dh_n, *dc_n;
  // The output of the forward pass of the same problem and seed; otherwise all gradients are NaN.
  // The gradients of a row that had another length there are NaN.
  const void* reserve;
  void *dx, *dh0, *dc0;
  void *dkernel, *drecurrent_kernel, *dbias, *dprojection, *dpeepholes, *dlayer_norm;
};

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

}  // namespace rnn_ops::gpu
