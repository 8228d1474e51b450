// CudnnRNNV3 and its gradient without cuDNN: the layers and directions of a stack as calls of the
// engine of LayerRNN (layer/).
#pragma once

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/layer_gpu.h"
#include "cc/gpu/rnn_gpu.h"

namespace rnn_ops::gpu {

// The code of these functions in RnnForwardArgs::algorithm. The codes of cuDNN's algorithms end at
// 32.
constexpr int8_t kStackAlgorithm = 33;

// The size of the reserve space. Depends on nothing but the problem, without its lengths.
int64_t StackReserveBytes(const StackProblem& problem);

// The functions of rnn_gpu.h, for problems that have a step. Differences:
// - `algorithm` does not affect the results beyond rounding, and both algorithms share reserve
//   spaces.
// - The masks of dropout are those of the CPU for the key `dropout_seed`. A generator is not used.
// - A reserve space of the right size from another problem gives gradients of NaN.
Status RunStackForward(const ProductLibraries& libraries, LayerAlgorithm algorithm,
                       const RnnForwardArgs& args, const RnnGpuCall& call);
Status RunStackBackward(const ProductLibraries& libraries, LayerAlgorithm algorithm,
                        const RnnBackwardArgs& args, const RnnGpuCall& call);

}  // namespace rnn_ops::gpu
