// The CudnnRNN family on a GPU, over raw device pointers and a stream.
#ifndef TF_RNN_OPS_CC_GPU_RNN_GPU_H_
#define TF_RNN_OPS_CC_GPU_RNN_GPU_H_

#include <cstdint>

#include "cc/core/network/dtype.h"
#include "cc/core/network/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/device_allocator.h"
#include "cc/gpu/dropout_generator.h"

namespace rnn_ops {
namespace gpu {

// One problem, already validated: by Validate(), and lengths by ValidateSequenceLengths().
struct RnnProblem : RnnConfig {
  Dtype dtype = Dtype::kFloat32;
  const int32_t* lengths = nullptr;  // [B] on the host, each in [0, T]; not kept
  bool allow_tf32 = false;           // float32 products may round their operands to TF32
};

// Where a call runs. The calling thread has the context of `stream` current.
struct RnnGpuCall {
  int device = 0;          // ordinal: tells apart what is cached
  void* stream = nullptr;  // CUstream
  DeviceAllocator* scratch = nullptr;
};

// Device pointers; S is P with projection, otherwise H. A tensor marked (B first if batch major)
// swaps its first two dimensions when time_major is false. No output may overlap another tensor.
// Null is allowed where a tensor has no elements, and for c0, c_n, ... without LSTM.
struct RnnForwardArgs {
  RnnProblem problem;
  // In training with dropout > 0: decides the masks of this call or, with a generator, of all calls
  // that use it, in their order.
  uint64_t dropout_seed = 0;
  DropoutGenerator* generator = nullptr;
  // Needed with a generator: asked once for each device and stream. The memory lives as long as the
  // generator.
  DeviceAllocator* generator_memory = nullptr;
  const void* x = nullptr;       // [T, B, I] (B first if batch major)
  const void* h0 = nullptr;      // [L*D, B, S] (B first if batch major)
  const void* c0 = nullptr;      // [L*D, B, H] (B first if batch major)
  const void* params = nullptr;  // [ParamsSize(config)], see docs/param-layout.md
  void* y = nullptr;             // [T, B, D*S] (B first if batch major)
  void* h_n = nullptr;           // as h0
  void* c_n = nullptr;           // as c0
  // Asked exactly once when training and there is a step to run: an output that lives on for
  // backward. Not asked otherwise: then reserve space has 0 bytes.
  DeviceAllocator* reserve = nullptr;
  // On the host: set, with the reserve space, to the algorithm that wrote that. In training.
  int8_t* algorithm = nullptr;
};

struct RnnBackwardArgs {
  RnnProblem problem;  // as in forward, which ran with is_training
  const void* x = nullptr;
  const void* h0 = nullptr;
  const void* c0 = nullptr;
  const void* params = nullptr;
  const void* y = nullptr;     // what forward wrote
  const void* dy = nullptr;    // as y
  const void* dh_n = nullptr;  // as h_n
  const void* dc_n = nullptr;  // as c_n
  void* reserve = nullptr;
  int64_t reserve_bytes = 0;
  int8_t algorithm = 0;  // what forward set
  // Whether somebody may read `reserve` again, as a second backward does. If so it is not written.
  bool keeps_reserve = true;
  void* dx = nullptr;       // as x
  void* dh0 = nullptr;      // as h0
  void* dc0 = nullptr;      // as c0
  void* dparams = nullptr;  // as params
};

// Enqueue the whole call on the stream and fill every output, T = 0, B = 0 and rows of length 0
// included. They do not wait for the device. The first call of a network may run it once more, with
// one step, to see whether cuDNN takes an algorithm.
//
// FailedPrecondition where the driver or cuDNN cannot be opened (what was tried and the package to
// install are in the text), ResourceExhausted where an allocator has no memory, InvalidArgument for
// a reserve space of another size or an algorithm that forward does not set, Unimplemented where
// cuDNN refuses the problem, Internal for any other failure, with the function, the expression and
// cuDNN's own text.
Status RnnForward(const RnnForwardArgs& args, const RnnGpuCall& call);
Status RnnBackward(const RnnBackwardArgs& args, const RnnGpuCall& call);

// The size of reserve_space for whom it must be known before the lengths are, as for XLA: no
// forward call of `problem` in training asks for more, and RnnBackward takes a reserve space of
// this size too. Whole elements of every type; 0 without steps or rows. problem.lengths is not
// read. Makes the primary context of `device`, an ordinal, current while it asks cuDNN.
Status RnnReserveBytes(const RnnProblem& problem, int device, int64_t* bytes);

// The version of the cuDNN that the functions above use, such as 90300.
Status CudnnVersion(int64_t* version);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_RNN_GPU_H_
