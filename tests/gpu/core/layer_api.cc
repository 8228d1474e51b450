// A C interface to LayerRNN of the GPU core. layer_checks.py calls it.
#include <cstdint>
#include <string>

#include "cc/core/network/dtype.h"
#include "cc/core/network/rnn_config.h"
#include "cc/gpu/layer/layer_executor.h"
#include "cc/gpu/layer/layer_gpu.h"
#include "tests/gpu/core/recorded_kernels.h"
#include "tests/gpu/core/timed_calls.h"

#define CORE_API extern "C" __attribute__((visibility("default")))

// layer_checks.py has the same struct.
struct CoreLayer {
  int32_t mode, activation, recurrent_activation, dtype, training, time_major, allow_tf32,
      algorithm;
  float cell_clip, proj_clip, zoneout_h, zoneout_c, layer_norm_epsilon;
  int64_t max_time, batch, input_size, units, proj;
  void* stream;
};

namespace {

using rnn_ops::Dtype;
using rnn_ops::RnnMode;
using rnn_ops::Status;
using rnn_ops::gpu::AllocateFn;
using rnn_ops::gpu::BlockAllocator;
using rnn_ops::gpu::CallbackAllocator;
namespace gpu = rnn_ops::gpu;

constexpr int kInputs = 13;

thread_local std::string message;

int Report(const Status& status) {
  message = status.message();
  return static_cast<int>(status.code());
}

// in: the inputs of LayerRNN in the order of the op. An absent tensor is null.
Status MakeProblem(const CoreLayer& core, const void* const in[kInputs], gpu::LayerProblem* p) {
  p->mode = static_cast<RnnMode>(core.mode);
  p->activation = static_cast<rnn_ops::Activation>(core.activation);
  p->recurrent_activation = static_cast<rnn_ops::Activation>(core.recurrent_activation);
  p->cell_clip = core.cell_clip, p->proj_clip = core.proj_clip;
  p->zoneout_h = core.zoneout_h, p->zoneout_c = core.zoneout_c;
  p->layer_norm_epsilon = core.layer_norm_epsilon;
  p->is_training = core.training != 0, p->time_major = core.time_major != 0;
  p->max_time = core.max_time, p->batch = core.batch;
  p->input_size = core.input_size, p->num_units = core.units, p->num_proj = core.proj;
  p->dtype = static_cast<Dtype>(core.dtype);
  p->allow_tf32 = core.allow_tf32 != 0;
  p->bias_rows = in[5] == nullptr ? 0 : p->mode == RnnMode::kGru ? 2 : 1;
  p->has_peepholes = in[7] != nullptr, p->has_layer_norm = in[8] != nullptr;
  p->input_masked = in[10] != nullptr, p->recurrent_masked = in[11] != nullptr;
  p->zoneout_drawn = p->has_zoneout() && in[12] != nullptr;
  return p->Validate();
}

gpu::LayerInputs InputsOf(const void* const in[kInputs]) {
  gpu::LayerInputs inputs = {};
  inputs.x = in[0], inputs.h0 = in[1], inputs.c0 = in[2];
  inputs.kernel = in[3], inputs.recurrent_kernel = in[4], inputs.bias = in[5];
  inputs.projection = in[6], inputs.peepholes = in[7], inputs.layer_norm = in[8];
  inputs.lengths = static_cast<const int32_t*>(in[9]);
  inputs.input_mask = in[10], inputs.recurrent_mask = in[11];
  inputs.seed = static_cast<const int64_t*>(in[12]);
  return inputs;
}

// out: y, h_n, c_n.
Status Forward(const CoreLayer& core, const void* const in[kInputs], void* const out[3],
               void* reserve, gpu::DeviceAllocator* scratch) {
  gpu::LayerForwardArgs args = {};
  gpu::ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(gpu::OpenRecordedLibraries(&libraries));
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(core, in, &args.problem));
  args.algorithm = static_cast<gpu::LayerAlgorithm>(core.algorithm);
  args.in = InputsOf(in);
  args.y = out[0], args.h_n = out[1], args.c_n = out[2];
  args.reserve = reserve;
  return gpu::RunLayerForward(libraries, args, scratch, core.stream);
}

// given: y, dy, dh_n, dc_n. out: the gradients of the first nine inputs.
Status Backward(const CoreLayer& core, const void* const in[kInputs], const void* const given[4],
                const void* reserve, void* const out[9], gpu::DeviceAllocator* scratch) {
  gpu::LayerBackwardArgs args = {};
  gpu::ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(gpu::OpenRecordedLibraries(&libraries));
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(core, in, &args.problem));
  args.algorithm = static_cast<gpu::LayerAlgorithm>(core.algorithm);
  args.in = InputsOf(in);
  args.y = given[0], args.dy = given[1], args.dh_n = given[2], args.dc_n = given[3];
  args.reserve = reserve;
  args.dx = out[0], args.dh0 = out[1], args.dc0 = out[2];
  args.dkernel = out[3], args.drecurrent_kernel = out[4], args.dbias = out[5];
  args.dprojection = out[6], args.dpeepholes = out[7], args.dlayer_norm = out[8];
  return gpu::RunLayerBackward(libraries, args, scratch, core.stream);
}

}  // namespace

CORE_API const char* core_layer_message() { return message.c_str(); }

CORE_API int core_layer_reserve(const CoreLayer* core, const void* const in[kInputs],
                                int64_t* bytes) {
  gpu::LayerProblem problem;
  const Status status = MakeProblem(*core, in, &problem);
  if (status.ok()) *bytes = gpu::LayerReserveBytes(problem);
  return Report(status);
}

CORE_API int core_layer_forward(const CoreLayer* core, const void* const in[kInputs],
                                void* const out[3], void* reserve, AllocateFn scratch) {
  CallbackAllocator allocator(scratch);
  return Report(Forward(*core, in, out, reserve, &allocator));
}

CORE_API int core_layer_backward(const CoreLayer* core, const void* const in[kInputs],
                                 const void* const given[4], const void* reserve,
                                 void* const out[9], AllocateFn scratch) {
  CallbackAllocator allocator(scratch);
  return Report(Backward(*core, in, given, reserve, out, &allocator));
}

// The passes of a timed call, as bits.
enum CorePasses { kForwardPass = 1, kBackwardPass = 2 };

// Measures the seconds of one call on the device in a series of `runs` calls. Backward without
// forward reads what an earlier call left. given, gradients: as `given` and `out` of
// core_layer_backward.
CORE_API int core_layer_time(const CoreLayer* core, const void* const in[kInputs],
                             void* const out[3], const void* const given[4],
                             void* const gradients[9], void* reserve, void* scratch,
                             int64_t scratch_bytes, int32_t passes, int32_t runs, double* seconds) {
  BlockAllocator allocator(scratch, scratch_bytes);
  const auto step = [&]() -> Status {
    if ((passes & kForwardPass) != 0) {
      allocator.Reset();
      RNN_OPS_RETURN_IF_ERROR(Forward(*core, in, out, reserve, &allocator));
    }
    if ((passes & kBackwardPass) == 0) return Status();
    allocator.Reset();
    return Backward(*core, in, given, reserve, gradients, &allocator);
  };
  return Report(gpu::TimeRuns(core->stream, runs, step, seconds));
}
