// A C interface to the GPU core, for a machine that has a GPU and PyTorch but no TensorFlow.
// core.py calls it.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cc/core/op/dtype.h"
#include "cc/core/op/param_layout.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/gpu/cudnn/rnn_executor.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/gpu/steps/layer.h"
#include "cc/gpu/steps/stack.h"
#include "tests/gpu/core/recorded_kernels.h"
#include "tests/gpu/core/timed_calls.h"

#define CORE_API extern "C" __attribute__((visibility("default")))

// core.py has the same structs.
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

struct CoreBlockLstm {
  int32_t dtype, use_peephole, allow_tf32;
  float cell_clip;
  int64_t max_time, batch, input_size, units, seq_len_max;
  void* stream;
};

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

constexpr int kInputs = 13;  // of LayerRNN

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

// ---- The block LSTM ----

namespace {

Status MakeProblem(const CoreBlockLstm& core, gpu::BlockLstmProblem* p) {
  p->dtype = static_cast<Dtype>(core.dtype);
  p->use_peephole = core.use_peephole != 0;
  p->cell_clip = core.cell_clip;
  p->allow_tf32 = core.allow_tf32 != 0;
  rnn_ops::RnnDims dims;
  dims.max_time = core.max_time, dims.batch = core.batch;
  dims.input_size = core.input_size, dims.num_units = core.units;
  return rnn_ops::MakeBlockLstmConfig(dims, core.seq_len_max, p);
}

// in: x, cs_prev, h_prev, w, wci, wcf, wco, b. out: i, cs, f, o, ci, co, h.
Status BlockForward(const CoreBlockLstm& core, const void* const in[8], void* const out[7],
                    gpu::DeviceAllocator* scratch) {
  gpu::BlockLstmForwardArgs args = {};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(core, &args.problem));
  args.x = in[0], args.cs_prev = in[1], args.h_prev = in[2], args.w = in[3];
  args.wci = in[4], args.wcf = in[5], args.wco = in[6], args.b = in[7];
  args.i = out[0], args.cs = out[1], args.f = out[2], args.o = out[3];
  args.ci = out[4], args.co = out[5], args.h = out[6];
  return gpu::BlockLstmForward(args, scratch, core.stream);
}

// in: the inputs of forward, the outputs of forward, cs_grad and h_grad. out: the gradients of the
// first eight.
Status BlockBackward(const CoreBlockLstm& core, const void* const in[17], void* const out[8],
                     gpu::DeviceAllocator* scratch) {
  gpu::BlockLstmBackwardArgs args = {};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(core, &args.problem));
  args.x = in[0], args.cs_prev = in[1], args.h_prev = in[2], args.w = in[3];
  args.wci = in[4], args.wcf = in[5], args.wco = in[6], args.b = in[7];
  args.i = in[8], args.cs = in[9], args.f = in[10], args.o = in[11];
  args.ci = in[12], args.co = in[13], args.h = in[14];
  args.cs_grad = in[15], args.h_grad = in[16];
  args.x_grad = out[0], args.cs_prev_grad = out[1], args.h_prev_grad = out[2];
  args.w_grad = out[3], args.wci_grad = out[4], args.wcf_grad = out[5], args.wco_grad = out[6];
  args.b_grad = out[7];
  return gpu::BlockLstmBackward(args, scratch, core.stream);
}

}  // namespace

CORE_API int core_block_lstm_forward(const CoreBlockLstm* core, const void* const in[8],
                                     void* const out[7], AllocateFn scratch) {
  CallbackAllocator allocator(scratch);
  return Report(BlockForward(*core, in, out, &allocator));
}

CORE_API int core_block_lstm_backward(const CoreBlockLstm* core, const void* const in[17],
                                      void* const out[8], AllocateFn scratch) {
  CallbackAllocator allocator(scratch);
  return Report(BlockBackward(*core, in, out, &allocator));
}

// Measures the seconds of one step on the device, forward and, if `training`, backward, in a series
// of `runs` steps. in: the inputs of backward. gradients: the outputs of backward.
CORE_API int core_block_lstm_time(const CoreBlockLstm* core, const void* const in[17],
                                  void* const gradients[8], void* scratch, int64_t scratch_bytes,
                                  int32_t training, int32_t runs, double* seconds) {
  BlockAllocator allocator(scratch, scratch_bytes);
  void* outputs[7];
  for (int k = 0; k < 7; ++k) outputs[k] = const_cast<void*>(in[8 + k]);
  const auto step = [&]() -> Status {
    allocator.Reset();
    RNN_OPS_RETURN_IF_ERROR(BlockForward(*core, in, outputs, &allocator));
    if (training == 0) return Status();
    allocator.Reset();
    return BlockBackward(*core, in, gradients, &allocator);
  };
  return Report(gpu::TimeRuns(core->stream, runs, step, seconds));
}

// ---- LayerRNN ----

namespace {

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
Status LayerForward(const CoreLayer& core, const void* const in[kInputs], void* const out[3],
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
Status LayerBackward(const CoreLayer& core, const void* const in[kInputs],
                     const void* const given[4], const void* reserve, void* const out[9],
                     gpu::DeviceAllocator* scratch) {
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
  return Report(LayerForward(*core, in, out, reserve, &allocator));
}

CORE_API int core_layer_backward(const CoreLayer* core, const void* const in[kInputs],
                                 const void* const given[4], const void* reserve,
                                 void* const out[9], AllocateFn scratch) {
  CallbackAllocator allocator(scratch);
  return Report(LayerBackward(*core, in, given, reserve, out, &allocator));
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
      RNN_OPS_RETURN_IF_ERROR(LayerForward(*core, in, out, reserve, &allocator));
    }
    if ((passes & kBackwardPass) == 0) return Status();
    allocator.Reset();
    return LayerBackward(*core, in, given, reserve, gradients, &allocator);
  };
  return Report(gpu::TimeRuns(core->stream, runs, step, seconds));
}
