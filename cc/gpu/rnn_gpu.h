// The CudnnRNN family on a GPU, on raw device pointers and a stream.
#pragma once

#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/cudnn/dropout_generator.h"
#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu {

// One stack. Validate() and, for the lengths, ValidateSequenceLengths() must have checked it.
struct StackProblem : RnnConfig {
  Dtype dtype = Dtype::kFloat32;
  const int32_t* lengths = nullptr;  // [B] on the host, each in [0, T]; not kept after the call
  bool allow_tf32 = false;           // float32 products may round their operands to TF32
};

// Where a call runs. The context of `stream` must be current on the calling thread.
struct RnnGpuCall {
  int device = 0;          // the ordinal, a key of the caches
  void* stream = nullptr;  // CUstream
  DeviceAllocator* scratch = nullptr;
};

// A flag of RnnForwardArgs::algorithm, which a caller sets after RnnForward if the reserve space
// has a size that a compiled program fixed. Another process may have compiled the program, so
// RnnBackward then accepts any size that is large enough.
constexpr int8_t kReserveOfProgram = 64;

// Device pointers. S is P with projection, otherwise H. Tensors marked (B first if batch major)
// have their first two dimensions swapped if time_major is false. No output may overlap another
// tensor. A pointer may be null if its tensor has no elements; c0, c_n, ... may also be null
// without LSTM.
struct RnnForwardArgs {
  StackProblem problem;
  // In training with dropout > 0: the seed of the masks of this call. cuDNN with a generator takes
  // that of the generator's first call for all its calls, in their order.
  uint64_t dropout_seed = 0;
  DropoutGenerator* generator = nullptr;
  // Required with a generator. It allocates once for each device and stream. The memory must live
  // as long as the generator.
  DeviceAllocator* generator_memory = nullptr;
  const void* x = nullptr;       // [T, B, I] (B first if batch major)
  const void* h0 = nullptr;      // [L*D, B, S] (B first if batch major)
  const void* c0 = nullptr;      // [L*D, B, H] (B first if batch major)
  const void* params = nullptr;  // [ParamsSize(config)], see docs/param-layout.md
  void* y = nullptr;             // [T, B, D*S] (B first if batch major)
  void* h_n = nullptr;           // like h0
  void* c_n = nullptr;           // like c0
  // Allocates an output that must live until backward. Called exactly once in training if there is
  // a step to run. Otherwise it is not called, and the reserve space has 0 bytes.
  DeviceAllocator* reserve = nullptr;
  // On the host. In training, set to the code of the algorithm that wrote the reserve space.
  int8_t* algorithm = nullptr;
};

struct RnnBackwardArgs {
  StackProblem problem;  // like in forward, which must have run with is_training
  const void* x = nullptr;
  const void* h0 = nullptr;
  const void* c0 = nullptr;
  const void* params = nullptr;
  const void* y = nullptr;     // the output of forward
  const void* dy = nullptr;    // like y
  const void* dh_n = nullptr;  // like h_n
  const void* dc_n = nullptr;  // like c_n
  void* reserve = nullptr;
  int64_t reserve_bytes = 0;
  int8_t algorithm = 0;  // the value that forward set, perhaps with kReserveOfProgram
  // If `reserve` may be read again, for example by a second backward call, it is not written.
  bool keeps_reserve = true;
  void* dx = nullptr;       // like x
  void* dh0 = nullptr;      // like h0
  void* dc0 = nullptr;      // like c0
  void* dparams = nullptr;  // like params
};

// The functions enqueue the whole call on the stream and fill every output, also for T = 0, B = 0
// and sequences of length 0. They do not wait for the device. The first call of a network may run
// one extra step, to test whether cuDNN accepts an algorithm.
//
// Where ChooseEngine() says so (engine_choice.h), RnnForward runs steps of this package instead of
// cuDNN (stack/stack_gpu.h). RnnBackward uses what wrote the reserve space.
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

}  // namespace rnn_ops::gpu
