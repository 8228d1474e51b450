// The ops on a GPU, on raw device pointers and a stream: what cc/tf and cc/xla call.
#pragma once

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/memory/device_allocator.h"
#include "cc/gpu/problem/layer_problem.h"
#include "cc/gpu/problem/stack_problem.h"

namespace rnn_ops::gpu {

// The CudnnRNN family on a GPU, on raw device pointers and a stream.

// The functions enqueue the whole call on the stream and fill every output, also for T = 0, B = 0
// and sequences of length 0. They do not wait for the device. The first call of a network may run
// one extra step, to test whether cuDNN accepts an algorithm.
//
// Where ChooseEngine() says so (engine_choice.h), RnnForward runs steps of this package instead of
// cuDNN (steps/stack.h). RnnBackward uses what wrote the reserve space.
//
// Errors:
// - FailedPrecondition if the driver, cuDNN or, for steps of this package, cuBLAS cannot be opened.
//   The message has the names that were tried and the package to install.
// - FailedPrecondition if a CUDA graph captures the stream and the call copies lengths to the
//   device, because a replay could not read them. The kernels of this package need them if a
//   sequence has fewer than T steps, a call of cuDNN if a sequence has none.
// - ResourceExhausted if an allocator has no memory.
// - InvalidArgument for a reserve space of another size, or an algorithm that forward never sets.
// - Unimplemented if cuDNN rejects the problem.
// - Internal for any other error, with the function, the expression and cuDNN's message.
Status RnnForward(const RnnForwardArgs& args, const RnnGpuCall& call);
Status RnnBackward(const RnnBackwardArgs& args, const RnnGpuCall& call);

// The size of reserve_space for callers that need the size before they know the lengths, such as
// XLA. No forward call of `problem` in training needs more with this GPU, cuDNN and policy. See
// kReserveOfProgram. The size is a whole number of elements of any type, and 0 if T or B is 0.
// problem.lengths is not read. Makes the primary context of `device`, an ordinal, current while it
// calls cuDNN.
Status RnnReserveBytes(const StackProblem& problem, int device, int64_t* bytes);

// The version of the cuDNN library that the functions above use, such as 90300.
Status CudnnVersion(int64_t* version);

// LayerRNN, BlockLSTMV2 and their gradients on a GPU: one layer and one direction, with every cell
// and option of the CPU. cuBLAS computes the products, and the kernels of kernels/ compute the
// rest.

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

// The same, also for seq_len = 0. The algorithm is a product and a kernel for each step.
Status BlockLstmForward(const BlockLstmForwardArgs& args, DeviceAllocator* allocator, void* stream);
Status BlockLstmBackward(const BlockLstmBackwardArgs& args, DeviceAllocator* allocator,
                         void* stream);

}  // namespace rnn_ops::gpu
