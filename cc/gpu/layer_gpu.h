// LayerRNN and its gradient on a GPU: one layer and one direction, with every cell and option of
// the CPU. cuBLAS computes the products, and the kernels of elementwise/ compute the rest.
#pragma once

#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_types.h"
#include "cc/core/status.h"
#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu {

// A validated problem of one layer and one direction, with weights in Keras's layout.
struct LayerProblem : RnnConfig {
  Dtype dtype = Dtype::kFloat32;
  bool allow_tf32 = false;  // float32 products may round their operands to TF32
  int32_t bias_rows = 0;    // 0: none, 1, or 2 (GRU)
  bool has_peepholes = false;
  bool has_layer_norm = false;
  bool input_masked = false;
  bool recurrent_masked = false;
  bool zoneout_drawn = false;
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

// The size of the reserve space of training. Depends on nothing but the problem.
int64_t LayerReserveBytes(const LayerProblem& problem);

// The functions enqueue the whole call on `stream` (a CUstream), in the context of the stream, and
// fill every output, also for B = 0 or T = 0. They do not wait for the device and copy nothing to
// or from the host, so a CUDA graph may capture them after a first call, which loads modules. The
// algorithm is that of ChooseEngine() (engine_choice.h), and kSteps in a captured call.
//
// Errors: FailedPrecondition if the driver or cuBLAS cannot be opened, ResourceExhausted if
// `allocator` has no memory, Internal with the function and its text if a call of the driver or
// cuBLAS fails.
Status LayerForward(const LayerForwardArgs& args, DeviceAllocator* allocator, void* stream);
Status LayerBackward(const LayerBackwardArgs& args, DeviceAllocator* allocator, void* stream);

}  // namespace rnn_ops::gpu
