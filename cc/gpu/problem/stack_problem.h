// A call of the CudnnRNN family on a GPU: what every engine that can run it gets.
#pragma once

#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu {

class DropoutGenerator;

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
  const void* params = nullptr;  // [ParamsSize(config)], see docs/raw-ops.md
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

// The size of reserve_space if an algorithm needs `needed` bytes: never 0, and a whole number of
// elements of any type.
int64_t RoundedReserve(int64_t needed);

// The code of an algorithm without kReserveOfProgram.
int8_t WithoutFlag(int8_t algorithm);

// Checks the size of the reserve space. `expected`: 0, or a result of RoundedReserve().
Status CheckReserve(const RnnBackwardArgs& args, int64_t expected);

}  // namespace rnn_ops::gpu
