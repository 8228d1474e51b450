// A C interface to the GPU core, for a machine that has a GPU and PyTorch but no TensorFlow.
// core.py calls it.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cc/core/network/dtype.h"
#include "cc/core/network/param_layout.h"
#include "cc/gpu/rnn_executor.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/gpu/rnn_libraries.h"
#include "cc/gpu/stack/stack_gpu.h"
#include "tests/gpu/core/recorded_kernels.h"
#include "tests/gpu/core/timed_calls.h"

#define CORE_API extern "C" __attribute__((visibility("default")))

// core.py has the same struct.
struct CoreRnn {
  int32_t mode, input_mode, directions, dtype, training, time_major, allow_tf32, device;
  int64_t layers, units, input_size, proj, max_time, batch;
  uint64_t seed;
  float dropout;
  void* stream;
  const int32_t* lengths;
  // As in TF_RNN_OPS_CUDNN_ALGO, or "steps" or "persistent": without cuDNN. Null: read the
  // environment.
  const char* algo;
};

namespace {

using rnn_ops::Dtype;
using rnn_ops::Status;
using rnn_ops::gpu::AllocateFn;
using rnn_ops::gpu::BlockAllocator;
using rnn_ops::gpu::CallbackAllocator;
namespace gpu = rnn_ops::gpu;

thread_local std::string message;

// One executor for each policy of choosing an algorithm, so that one process can compare the
// policies.
struct Executors {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<gpu::RnnExecutor>> made;
};

Status GetExecutor(const CoreRnn& core, gpu::RnnExecutor** executor) {
  // Never destroyed, because kernels may run while the process exits.
  static Executors* const executors = new Executors;
  const std::string algo = core.algo == nullptr ? "" : core.algo;
  std::lock_guard<std::mutex> lock(executors->mutex);
  std::unique_ptr<gpu::RnnExecutor>& made = executors->made[algo];
  if (made == nullptr) {
    gpu::RnnExecutorParts parts;
    RNN_OPS_RETURN_IF_ERROR(gpu::FindRnnParts(&parts));
    if (!algo.empty()) RNN_OPS_RETURN_IF_ERROR(gpu::ParseAlgoPolicy(core.algo, &parts.policy));
    made = std::make_unique<gpu::RnnExecutor>(parts);
  }
  *executor = made.get();
  return Status();
}

int Report(const Status& status) {
  message = status.message();
  return static_cast<int>(status.code());
}

Status MakeProblem(const CoreRnn& core, gpu::StackProblem* problem) {
  rnn_ops::RnnConfig& c = *problem;
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
  problem->dtype = static_cast<Dtype>(core.dtype);
  problem->lengths = core.lengths;
  problem->allow_tf32 = core.allow_tf32 != 0;
  return c.Validate();
}

// Whether the call runs without cuDNN.
bool RunsEngine(const CoreRnn& core, gpu::LayerAlgorithm* steps) {
  const std::string algo = core.algo == nullptr ? "" : core.algo;
  *steps = algo == "persistent" ? gpu::LayerAlgorithm::kPersistent : gpu::LayerAlgorithm::kSteps;
  return algo == "persistent" || algo == "steps";
}

}  // namespace

CORE_API const char* core_message() { return message.c_str(); }

CORE_API int core_cudnn_version(int64_t* version) { return Report(gpu::CudnnVersion(version)); }

namespace {

// tensors: x, h0, c0, params, y, h_n, c_n.
Status Forward(const CoreRnn& core, void* const tensors[7], gpu::DeviceAllocator* scratch,
               gpu::DeviceAllocator* reserve, int8_t* algorithm) {
  gpu::RnnForwardArgs args;
  gpu::RnnExecutor* executor = nullptr;
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(core, &args.problem));
  args.dropout_seed = core.seed;
  args.x = tensors[0], args.h0 = tensors[1], args.c0 = tensors[2], args.params = tensors[3];
  args.y = tensors[4], args.h_n = tensors[5], args.c_n = tensors[6];
  args.reserve = reserve;
  args.algorithm = algorithm;
  const gpu::RnnGpuCall call{core.device, core.stream, scratch};
  gpu::LayerAlgorithm steps;
  if (!RunsEngine(core, &steps)) {
    RNN_OPS_RETURN_IF_ERROR(GetExecutor(core, &executor));
    return executor->Forward(args, call);
  }
  if (gpu::HasNoSteps(args.problem)) {
    const gpu::DeviceOps* ops = nullptr;
    RNN_OPS_RETURN_IF_ERROR(gpu::GetDeviceOps(&ops));
    return gpu::ForwardWithoutSteps(*ops, args, call);
  }
  gpu::ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(gpu::OpenRecordedLibraries(&libraries));
  return gpu::RunStackForward(libraries, steps, args, call);
}

struct Reserve {
  void* memory;
  int64_t bytes;
  int8_t algorithm;
  bool keeps;
};

// tensors: x, h0, c0, params, y, dy, dh_n, dc_n, dx, dh0, dc0, dparams.
Status Backward(const CoreRnn& core, void* const tensors[12], const Reserve& reserve,
                gpu::DeviceAllocator* scratch) {
  gpu::RnnBackwardArgs args;
  gpu::RnnExecutor* executor = nullptr;
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(core, &args.problem));
  args.x = tensors[0], args.h0 = tensors[1], args.c0 = tensors[2], args.params = tensors[3];
  args.y = tensors[4], args.dy = tensors[5], args.dh_n = tensors[6], args.dc_n = tensors[7];
  args.reserve = reserve.memory;
  args.reserve_bytes = reserve.bytes;
  args.algorithm = reserve.algorithm;
  args.keeps_reserve = reserve.keeps;
  args.dx = tensors[8], args.dh0 = tensors[9], args.dc0 = tensors[10];
  args.dparams = tensors[11];
  const gpu::RnnGpuCall call{core.device, core.stream, scratch};
  gpu::LayerAlgorithm steps;
  if (!RunsEngine(core, &steps)) {
    RNN_OPS_RETURN_IF_ERROR(GetExecutor(core, &executor));
    return executor->Backward(args, call);
  }
  if (gpu::HasNoSteps(args.problem)) {
    const gpu::DeviceOps* ops = nullptr;
    RNN_OPS_RETURN_IF_ERROR(gpu::GetDeviceOps(&ops));
    return gpu::BackwardWithoutSteps(*ops, args, call);
  }
  gpu::ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(gpu::OpenRecordedLibraries(&libraries));
  return gpu::RunStackBackward(libraries, steps, args, call);
}

// The memory of a timed call. If core.training is set, the call includes backward.
struct TimedMemory {
  void* const* tensors;  // x, h0, c0, params, y, h_n, c_n, dy, dh_n, dc_n, dx, dh0, dc0, dparams
  BlockAllocator scratch, reserve;
  bool keeps_reserve;
};

Status Step(const CoreRnn& core, TimedMemory* m) {
  void* const* t = m->tensors;
  m->scratch.Reset();
  m->reserve.Reset();
  int8_t algorithm = 0;
  RNN_OPS_RETURN_IF_ERROR(Forward(core, t, &m->scratch, &m->reserve, &algorithm));
  if (core.training == 0) return Status();
  void* const backward[12] = {t[0], t[1], t[2],  t[3],  t[4],  t[7],
                              t[8], t[9], t[10], t[11], t[12], t[13]};
  m->scratch.Reset();
  return Backward(core, backward,
                  {m->reserve.block(), m->reserve.used(), algorithm, m->keeps_reserve},
                  &m->scratch);
}

}  // namespace

CORE_API int core_forward(const CoreRnn* core, void* const tensors[7], AllocateFn scratch,
                          AllocateFn reserve, int8_t* algorithm) {
  CallbackAllocator scratch_allocator(scratch), reserve_allocator(reserve);
  return Report(Forward(*core, tensors, &scratch_allocator, &reserve_allocator, algorithm));
}

CORE_API int core_backward(const CoreRnn* core, void* const tensors[12], void* reserve,
                           int64_t reserve_bytes, int8_t algorithm, AllocateFn scratch) {
  CallbackAllocator scratch_allocator(scratch);
  return Report(Backward(*core, tensors, {reserve, reserve_bytes, algorithm, /*keeps=*/true},
                         &scratch_allocator));
}

// Measures the seconds of one step on the device, in a series of `runs` steps.
CORE_API int core_time(const CoreRnn* core, void* const tensors[14], void* scratch,
                       int64_t scratch_bytes, void* reserve, int64_t reserve_bytes,
                       int32_t keeps_reserve, int32_t runs, double* seconds) {
  TimedMemory memory{
      tensors, {scratch, scratch_bytes}, {reserve, reserve_bytes}, keeps_reserve != 0};
  return Report(gpu::TimeRuns(core->stream, runs, [&] { return Step(*core, &memory); }, seconds));
}
