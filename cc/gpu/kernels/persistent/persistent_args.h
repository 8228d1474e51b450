// The arguments of the persistent kernels of LayerRNN. A launch computes all steps of some rows of
// the batch, and its blocks run at the same time.
#pragma once

#include "cc/gpu/kernels/layer_args.h"

namespace rnn_ops::gpu::elementwise {

// Memory that the blocks of a launch share. It is zero before the launch.
struct Exchange {
  unsigned* values;    // factors of the products, twice, for even and odd steps
  unsigned* counter;   // of blocks that have announced a step
  float* partial;      // sums of a part of the inner dimension, if a kernel has parts
  unsigned* counters;  // of the blocks that share a sum, kCounterStep apart
  unsigned* gave_up;   // host memory: gets `number` if a block waited in vain
  unsigned number;     // of the kernel
  unsigned max_spins;  // reads of a counter before a block gives up
};

enum { kCounterStep = 32 };  // a cache line of 128 bytes

struct PersistentForward {
  LayerStep step;         // of the first step
  const void* recurrent;  // T [H, G*H]
  const void* h_before;   // T [B, H]: h of the step before
  Exchange exchange;
  Int64 steps;
  Int64 c_stride;  // from the c of a step to the next: B*H in training, else 0
  Int64 first_row;
  int rows;
};

struct PersistentBackward {
  LayerBackStep step;     // its tensors of steps begin with step 0; h_prev is input_h
  const void* recurrent;  // T [H, G*H]
  Exchange exchange;
  Int64 first_row;
  int rows;
};

}  // namespace rnn_ops::gpu::elementwise
