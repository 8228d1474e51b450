// The GPU core behind plain C functions, for a machine that has a GPU and PyTorch but no
// TensorFlow. core.py is its other half.
#include <cstdint>
#include <string>

#include "cc/core/param_layout.h"
#include "cc/gpu/rnn_gpu.h"

#define CORE_API extern "C" __attribute__((visibility("default")))

// Mirrored in core.py.
struct CoreRnn {
  int32_t mode, input_mode, directions, dtype, training, time_major, allow_tf32, device;
  int64_t layers, units, input_size, proj, max_time, batch;
  uint64_t seed;
  float dropout;
  void* stream;
  const int32_t* lengths;
};

// Device memory of a number of bytes; null: there is none.
using AllocateFn = void* (*)(int64_t bytes);

namespace {

using rnn_ops::Status;
namespace gpu = rnn_ops::gpu;

thread_local std::string message;

class CallbackAllocator : public gpu::DeviceAllocator {
 public:
  explicit CallbackAllocator(AllocateFn allocate) : allocate_(allocate) {}
  void* Allocate(int64_t bytes) override { return allocate_(bytes); }

 private:
  AllocateFn allocate_;
};

int Report(const Status& status) {
  message = status.message();
  return static_cast<int>(status.code());
}

Status MakeProblem(const CoreRnn& core, gpu::RnnProblem* problem) {
  rnn_ops::RnnConfig& c = problem->config;
  c.mode = static_cast<rnn_ops::RnnMode>(core.mode);
  c.input_mode = static_cast<rnn_ops::InputMode>(core.input_mode);
  c.direction = static_cast<rnn_ops::Direction>(core.directions);
  c.num_layers = core.layers;
  c.num_units = core.units;
  c.input_size = core.input_size;
  c.num_proj = core.proj;
  c.max_time = core.max_time;
  c.batch = core.batch;
  c.dropout = core.dropout;
  c.is_training = core.training != 0;
  c.time_major = core.time_major != 0;
  problem->dtype = static_cast<gpu::Dtype>(core.dtype);
  problem->lengths = core.lengths;
  problem->allow_tf32 = core.allow_tf32 != 0;
  return c.Validate();
}

}  // namespace

CORE_API const char* core_message() { return message.c_str(); }

CORE_API int core_cudnn_version(int64_t* version) { return Report(gpu::CudnnVersion(version)); }

// tensors: x, h0, c0, params, y, h_n, c_n.
CORE_API int core_forward(const CoreRnn* core, void* const tensors[7], AllocateFn scratch,
                          AllocateFn reserve) {
  CallbackAllocator scratch_allocator(scratch), reserve_allocator(reserve);
  gpu::RnnForwardArgs args;
  const Status valid = MakeProblem(*core, &args.problem);
  if (!valid.ok()) return Report(valid);
  args.dropout_seed = core->seed;
  args.x = tensors[0], args.h0 = tensors[1], args.c0 = tensors[2], args.params = tensors[3];
  args.y = tensors[4], args.h_n = tensors[5], args.c_n = tensors[6];
  args.reserve = &reserve_allocator;
  return Report(gpu::RnnForward(args, {core->device, core->stream, &scratch_allocator}));
}

// tensors: x, h0, c0, params, y, dy, dh_n, dc_n, reserve, dx, dh0, dc0, dparams.
CORE_API int core_backward(const CoreRnn* core, void* const tensors[13], int64_t reserve_bytes,
                           AllocateFn scratch) {
  CallbackAllocator scratch_allocator(scratch);
  gpu::RnnBackwardArgs args;
  const Status valid = MakeProblem(*core, &args.problem);
  if (!valid.ok()) return Report(valid);
  args.x = tensors[0], args.h0 = tensors[1], args.c0 = tensors[2], args.params = tensors[3];
  args.y = tensors[4], args.dy = tensors[5], args.dh_n = tensors[6], args.dc_n = tensors[7];
  args.reserve = tensors[8];
  args.reserve_bytes = reserve_bytes;
  args.dx = tensors[9], args.dh0 = tensors[10], args.dc0 = tensors[11];
  args.dparams = tensors[12];
  return Report(gpu::RnnBackward(args, {core->device, core->stream, &scratch_allocator}));
}
