#include "cc/gpu/cudnn/rnn_executor.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "cc/core/op/param_layout.h"
#include "cc/gpu/cudnn/rnn_dropout.h"
#include "cc/gpu/cudnn/rnn_staging.h"
#include "cc/gpu/launch/device_ops.h"
#include "cc/gpu/libraries/cudnn_api.h"
#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu {
namespace {

bool IsLstm(const StackProblem& problem) { return problem.mode == RnnMode::kLstm; }

int64_t StateBytes(const StackProblem& problem, int64_t width) {
  const RnnConfig& c = problem;
  return c.num_pseudo_layers() * c.batch * width * SizeOf(problem.dtype);
}

int64_t SequenceBytes(const StackProblem& problem, int64_t width) {
  const RnnConfig& c = problem;
  return c.max_time * c.batch * width * SizeOf(problem.dtype);
}

// Whether the steps beyond the longest length are at the end of memory.
bool CanCutOff(const RnnConfig& c) { return c.time_major || c.batch <= 1; }

// Sets T to the longest length, if the removed steps are at the end of memory, and sets the removed
// steps of the result `sequence` to zero.
// WHY: a persistent kernel may run sequences of one length, which may be shorter than T.
Status CutOffEmptySteps(const DeviceOps& ops, void* stream, int64_t width, void* sequence,
                        StackProblem* problem) {
  RnnConfig& c = *problem;
  const int64_t longest = *std::max_element(problem->lengths, problem->lengths + c.batch);
  if (longest == c.max_time || !CanCutOff(c)) return Status();
  const int64_t all_bytes = SequenceBytes(*problem, width);
  c.max_time = longest;
  const int64_t bytes = SequenceBytes(*problem, width);
  return ops.Zero(stream, static_cast<char*>(sequence) + bytes, all_bytes - bytes);
}

bool IsFull(const StackProblem& problem) {
  const int32_t* const end = problem.lengths + problem.batch;
  return std::all_of(problem.lengths, end,
                     [&](int32_t length) { return length == problem.max_time; });
}

RnnChoiceKey ChoiceKey(const StackProblem& problem, const RnnGpuCall& call) {
  return {call.device, problem, problem.dtype, IsFull(problem)};
}

// Records the single allocation that is made through it.
class RecordingAllocator : public DeviceAllocator {
 public:
  explicit RecordingAllocator(DeviceAllocator* base) : base_(base) {}
  void* Allocate(int64_t bytes) override {
    bytes_ = bytes;
    return memory_ = base_->Allocate(bytes);
  }
  void* memory() const { return memory_; }
  int64_t bytes() const { return bytes_; }

 private:
  DeviceAllocator* const base_;
  void* memory_ = nullptr;
  int64_t bytes_ = 0;
};

// The arguments of a backward call that fits `forward`. The outputs of `forward` serve as
// gradients, and the outputs of the backward call are in scratch memory.
Status MakeTrialBackward(const RnnForwardArgs& forward, const RecordingAllocator& reserve,
                         DeviceAllocator* scratch, RnnBackwardArgs* backward) {
  const RnnConfig& c = forward.problem;
  const int64_t element = SizeOf(forward.problem.dtype);
  const int64_t rows = c.max_time * c.batch;
  const int64_t states = c.num_pseudo_layers() * c.batch;
  backward->problem = forward.problem;
  backward->x = forward.x;
  backward->h0 = forward.h0;
  backward->c0 = forward.c0;
  backward->params = forward.params;
  backward->y = backward->dy = forward.y;
  backward->dh_n = forward.h_n;
  backward->dc_n = forward.c_n;
  backward->reserve = reserve.memory();
  backward->reserve_bytes = reserve.bytes();
  const char* purpose = "the gradients of a trial run";
  RNN_OPS_RETURN_IF_ERROR(
      AllocateScratch(scratch, purpose, rows * c.input_size * element, &backward->dx));
  RNN_OPS_RETURN_IF_ERROR(
      AllocateScratch(scratch, purpose, states * c.hidden_size() * element, &backward->dh0));
  RNN_OPS_RETURN_IF_ERROR(
      AllocateScratch(scratch, purpose, states * c.num_units * element, &backward->dc0));
  return AllocateScratch(scratch, purpose, ParamsSize(c) * element, &backward->dparams);
}

}  // namespace

bool HasNoSteps(const StackProblem& problem) {
  const int32_t* const end = problem.lengths + problem.batch;
  return std::all_of(problem.lengths, end, [](int32_t length) { return length == 0; });
}

Status ForwardWithoutSteps(const DeviceOps& ops, const RnnForwardArgs& args,
                           const RnnGpuCall& call) {
  const RnnConfig& c = args.problem;
  RNN_OPS_RETURN_IF_ERROR(
      ops.Zero(call.stream, args.y, SequenceBytes(args.problem, c.output_size())));
  RNN_OPS_RETURN_IF_ERROR(
      ops.Copy(call.stream, args.h_n, args.h0, StateBytes(args.problem, c.hidden_size())));
  if (!IsLstm(args.problem)) return Status();
  return ops.Copy(call.stream, args.c_n, args.c0, StateBytes(args.problem, c.num_units));
}

Status BackwardWithoutSteps(const DeviceOps& ops, const RnnBackwardArgs& args,
                            const RnnGpuCall& call) {
  const RnnConfig& c = args.problem;
  RNN_OPS_RETURN_IF_ERROR(CheckReserve(args, /*expected=*/0));
  RNN_OPS_RETURN_IF_ERROR(
      ops.Zero(call.stream, args.dx, SequenceBytes(args.problem, c.input_size)));
  RNN_OPS_RETURN_IF_ERROR(
      ops.Zero(call.stream, args.dparams, ParamsSize(c) * SizeOf(args.problem.dtype)));
  RNN_OPS_RETURN_IF_ERROR(
      ops.Copy(call.stream, args.dh0, args.dh_n, StateBytes(args.problem, c.hidden_size())));
  if (!IsLstm(args.problem)) return Status();
  return ops.Copy(call.stream, args.dc0, args.dc_n, StateBytes(args.problem, c.num_units));
}

RnnExecutor::RnnExecutor(RnnExecutorParts parts)
    : parts_(std::move(parts)),
      handles_(parts_.cudnn),
      plans_(parts_.cudnn, parts_.cached_plans),
      choices_(parts_.policy) {}

Status RnnExecutor::GetTraits(const RnnGpuCall& call, DeviceTraits* traits) {
  std::lock_guard<std::mutex> lock(traits_mutex_);
  const auto found = traits_.find(call.device);
  if (found != traits_.end()) {
    *traits = found->second;
    return Status();
  }
  RNN_OPS_RETURN_IF_ERROR(parts_.traits(call.stream, traits));
  traits_.emplace(call.device, *traits);
  return Status();
}

Status RnnExecutor::GetPlan(const StackProblem& problem, const RnnGpuCall& call,
                            cudnnHandle_t handle, const RnnChoice& choice, Pass pass,
                            const void* params, RnnPlan::Pointer* plan) {
  RnnPlanKey key;
  key.device = call.device;
  key.network = NetworkOf(problem);
  key.compute = choice.compute;
  key.allow_tf32 = problem.allow_tf32;
  key.algo = pass == Pass::kForward ? choice.algos.forward : choice.algos.backward;
  return plans_.Get(handle, key, params, plan);
}

Status RnnExecutor::Forward(const RnnForwardArgs& given, const RnnGpuCall& call) {
  if (HasNoSteps(given.problem)) return ForwardWithoutSteps(*parts_.ops, given, call);
  RnnForwardArgs args = given;
  RNN_OPS_RETURN_IF_ERROR(CutOffEmptySteps(*parts_.ops, call.stream, args.problem.output_size(),
                                           args.y, &args.problem));
  RNN_OPS_RETURN_IF_ERROR(CheckSizes(args.problem));
  DeviceTraits traits;
  RNN_OPS_RETURN_IF_ERROR(GetTraits(call, &traits));
  HandlePool::Lease handle;
  RNN_OPS_RETURN_IF_ERROR(handles_.Acquire(call.device, call.stream, &handle));
  RecyclingAllocator recycling(call.scratch);
  const auto trial = [&](const RnnChoice& candidate) {
    return Try(args, call, handle.get(), candidate, &recycling);
  };
  RnnChoice choice;
  choices_.Choose(ChoiceKey(args.problem, call), traits, trial, &choice);
  recycling.Reset();  // the call may reuse the memory of the trials
  if (args.problem.is_training) *args.algorithm = CodeOf(choice, args.problem.dtype);
  return RunForward(args, {call.device, call.stream, &recycling}, handle.get(), choice);
}

Status RnnExecutor::Backward(const RnnBackwardArgs& given, const RnnGpuCall& call) {
  if (HasNoSteps(given.problem)) return BackwardWithoutSteps(*parts_.ops, given, call);
  RnnBackwardArgs args = given;
  RNN_OPS_RETURN_IF_ERROR(
      CutOffEmptySteps(*parts_.ops, call.stream, args.problem.input_size, args.dx, &args.problem));
  RNN_OPS_RETURN_IF_ERROR(CheckSizes(args.problem));
  RnnChoice choice;
  RNN_OPS_RETURN_IF_ERROR(ChoiceOf(WithoutFlag(args.algorithm), args.problem.dtype, &choice));
  HandlePool::Lease handle;
  RNN_OPS_RETURN_IF_ERROR(handles_.Acquire(call.device, call.stream, &handle));
  return RunBackward(args, call, handle.get(), choice);
}

Status RnnExecutor::GetReserveBytes(const StackProblem& problem, const RnnGpuCall& call,
                                    cudnnHandle_t handle, const RnnChoice& choice,
                                    const RnnCallDescriptors& descriptors,
                                    const std::vector<int>& lengths, const void* params,
                                    int64_t* bytes) {
  *bytes = descriptors.reserve_bytes();
  if (!problem.is_training || choice.algos.forward == choice.algos.backward) return Status();
  for (Pass pass : {Pass::kForward, Pass::kBackward}) {
    RnnPlan::Pointer plan;
    RnnCallDescriptors others;
    RNN_OPS_RETURN_IF_ERROR(GetPlan(problem, call, handle, choice, pass, params, &plan));
    if (plan.get() == &descriptors.plan()) continue;
    RNN_OPS_RETURN_IF_ERROR(
        others.Init(*parts_.cudnn, handle, plan, problem, lengths, descriptors.dropout()));
    *bytes = std::max(*bytes, others.reserve_bytes());
  }
  return Status();
}

Status RnnExecutor::ReserveBytes(const StackProblem& given, int device, int64_t* bytes) {
  StackProblem problem = given;
  // A call without longer sequences runs no more steps, and other calls fail.
  if (CanCutOff(problem)) problem.max_time = std::min(problem.max_time, kMostSteps);
  RNN_OPS_RETURN_IF_ERROR(CheckSizes(problem));
  const RnnGpuCall call{device, /*stream=*/nullptr, /*scratch=*/nullptr};
  HandlePool::Lease handle;
  RNN_OPS_RETURN_IF_ERROR(handles_.Acquire(device, call.stream, &handle));
  return LargestReserveBytes(problem, call, handle.get(), bytes);
}

namespace {

// Descriptors only store addresses of device memory. Without work on the stream nothing accesses
// the memory, so it need not exist.
class NoMemory : public DeviceAllocator {
 public:
  void* Allocate(int64_t) override { return reinterpret_cast<void*>(uintptr_t{1} << 20); }
};

}  // namespace

Status RnnExecutor::LargestReserveBytes(const StackProblem& problem, const RnnGpuCall& call,
                                        cudnnHandle_t handle, int64_t* bytes) {
  DeviceTraits traits;
  RNN_OPS_RETURN_IF_ERROR(GetTraits(call, &traits));
  NoMemory no_memory;
  RnnBackwardArgs args;
  args.problem = problem;
  args.problem.is_training = true;
  DropoutDescriptor dropout;
  RNN_OPS_RETURN_IF_ERROR(SetBackwardDropout(*parts_.cudnn, handle, args,
                                             {call.device, call.stream, &no_memory}, &dropout));
  // The candidates depend on whether all sequences have T steps. The sizes are computed for T
  // steps.
  const std::vector<int> longest(static_cast<size_t>(args.problem.batch),
                                 static_cast<int>(args.problem.max_time));
  std::vector<int32_t> lengths(longest.begin(), longest.end());
  args.problem.lengths = lengths.data();
  int64_t needed = 0;
  for (int32_t shorter : {0, 1}) {
    lengths[0] -= shorter;
    Status last;
    for (const RnnChoice& choice :
         RnnCandidates(parts_.policy, ChoiceKey(args.problem, call), traits)) {
      for (Pass pass : {Pass::kForward, Pass::kBackward}) {
        RnnPlan::Pointer plan;
        RnnCallDescriptors descriptors;
        last = GetPlan(args.problem, call, handle, choice, pass, no_memory.Allocate(0), &plan);
        if (last.ok()) {
          last =
              descriptors.Init(*parts_.cudnn, handle, plan, args.problem, longest, dropout.get());
        }
        if (!last.ok()) break;
        needed = std::max(needed, descriptors.reserve_bytes());
      }
    }
    // A call chooses the last candidate if cuDNN rejects the others.
    RNN_OPS_RETURN_IF_ERROR(last);
  }
  *bytes = RoundedReserve(needed);
  return Status();
}

Status RnnExecutor::RunForward(const RnnForwardArgs& args, const RnnGpuCall& call,
                               cudnnHandle_t handle, const RnnChoice& choice) {
  const CudnnApi& api = *parts_.cudnn;
  const RnnConfig& c = args.problem;
  RnnPlan::Pointer plan;
  RNN_OPS_RETURN_IF_ERROR(
      GetPlan(args.problem, call, handle, choice, Pass::kForward, args.params, &plan));
  const WeightMap& weights = plan->weights();
  DropoutDescriptor dropout;
  std::unique_lock<std::mutex> generator_lock;
  RNN_OPS_RETURN_IF_ERROR(SetForwardDropout(api, handle, args, call, &generator_lock, &dropout));
  RnnStaging staging(*parts_.ops, args.problem, choice.compute, call);
  RnnCallDescriptors descriptors;
  RNN_OPS_RETURN_IF_ERROR(descriptors.Init(api, handle, plan, c, staging.lengths(), dropout.get()));

  void* work = nullptr;
  RNN_OPS_RETURN_IF_ERROR(staging.Scratch("cuDNN's work space", descriptors.work_bytes(), &work));
  void* reserve = nullptr;
  if (c.is_training) {
    int64_t needed = 0;
    RNN_OPS_RETURN_IF_ERROR(GetReserveBytes(args.problem, call, handle, choice, descriptors,
                                            staging.lengths(), args.params, &needed));
    RNN_OPS_RETURN_IF_ERROR(
        AllocateScratch(args.reserve, "reserve_space", RoundedReserve(needed), &reserve));
  }

  RNN_OPS_RETURN_IF_ERROR(staging.Init());
  const void *x, *h0, *c0 = nullptr, *params;
  RNN_OPS_RETURN_IF_ERROR(staging.SequenceIn(args.x, c.input_size, &x));
  RNN_OPS_RETURN_IF_ERROR(staging.StateIn(args.h0, c.hidden_size(), &h0));
  RNN_OPS_RETURN_IF_ERROR(staging.ParamsIn(weights, args.params, &params));
  void *y, *h_n, *c_n = nullptr;
  RNN_OPS_RETURN_IF_ERROR(staging.SequenceOut(args.y, c.output_size(), Padding::kZeroByCudnn, &y));
  RNN_OPS_RETURN_IF_ERROR(staging.StateOut(args.h_n, args.h0, c.hidden_size(), &h_n));
  if (IsLstm(args.problem)) {
    RNN_OPS_RETURN_IF_ERROR(staging.StateIn(args.c0, c.num_units, &c0));
    RNN_OPS_RETURN_IF_ERROR(staging.StateOut(args.c_n, args.c0, c.num_units, &c_n));
  }

  // Note [Device lengths]: from version 8.9.1 on, cuDNN reads the lengths from the data descriptors
  // only, and devSeqLengths must be null.
  {
    const auto lock = plan->Lock();
    RNN_OPS_RETURN_IF_CUDNN_ERROR(
        api,
        RNNForward(handle, descriptors.rnn(), descriptors.forward_mode(),
                   /*device_lengths=*/nullptr, descriptors.x(), x, descriptors.y(), y, plan->h(),
                   h0, h_n, plan->c(), c0, c_n, static_cast<size_t>(weights.cudnn_bytes()), params,
                   static_cast<size_t>(descriptors.work_bytes()), work,
                   static_cast<size_t>(c.is_training ? descriptors.reserve_bytes() : 0), reserve));
  }
  return staging.Finish();
}

Status RnnExecutor::RunBackward(const RnnBackwardArgs& args, const RnnGpuCall& call,
                                cudnnHandle_t handle, const RnnChoice& choice) {
  const CudnnApi& api = *parts_.cudnn;
  const RnnConfig& c = args.problem;
  RnnPlan::Pointer plan;
  RNN_OPS_RETURN_IF_ERROR(
      GetPlan(args.problem, call, handle, choice, Pass::kBackward, args.params, &plan));
  const WeightMap& weights = plan->weights();
  DropoutDescriptor dropout;
  RNN_OPS_RETURN_IF_ERROR(SetBackwardDropout(api, handle, args, call, &dropout));
  RnnStaging staging(*parts_.ops, args.problem, choice.compute, call);
  RnnCallDescriptors descriptors;
  RNN_OPS_RETURN_IF_ERROR(descriptors.Init(api, handle, plan, c, staging.lengths(), dropout.get()));
  int64_t reserve_bytes = 0;
  RNN_OPS_RETURN_IF_ERROR(GetReserveBytes(args.problem, call, handle, choice, descriptors,
                                          staging.lengths(), args.params, &reserve_bytes));
  RNN_OPS_RETURN_IF_ERROR(CheckReserve(args, RoundedReserve(reserve_bytes)));

  void* work = nullptr;
  RNN_OPS_RETURN_IF_ERROR(staging.Scratch("cuDNN's work space", descriptors.work_bytes(), &work));
  void* reserve = args.reserve;
  if (args.keeps_reserve) {
    // cuDNN writes to the reserve space, but a second gradient of the same tape needs the original
    // content.
    RNN_OPS_RETURN_IF_ERROR(staging.Scratch("a copy of reserve_space", reserve_bytes, &reserve));
    RNN_OPS_RETURN_IF_ERROR(parts_.ops->Copy(call.stream, reserve, args.reserve, reserve_bytes));
  }

  RNN_OPS_RETURN_IF_ERROR(staging.Init());
  const void *x, *h0, *c0 = nullptr, *params, *y, *dy, *dh_n, *dc_n = nullptr;
  RNN_OPS_RETURN_IF_ERROR(staging.SequenceIn(args.x, c.input_size, &x));
  RNN_OPS_RETURN_IF_ERROR(staging.StateIn(args.h0, c.hidden_size(), &h0));
  RNN_OPS_RETURN_IF_ERROR(staging.ParamsIn(weights, args.params, &params));
  RNN_OPS_RETURN_IF_ERROR(staging.SequenceIn(args.y, c.output_size(), &y));
  RNN_OPS_RETURN_IF_ERROR(staging.SequenceIn(args.dy, c.output_size(), &dy));
  RNN_OPS_RETURN_IF_ERROR(staging.StateIn(args.dh_n, c.hidden_size(), &dh_n));
  void *dx, *dh0, *dc0 = nullptr, *dparams;
  RNN_OPS_RETURN_IF_ERROR(staging.SequenceOut(args.dx, c.input_size, Padding::kLeftByCudnn, &dx));
  RNN_OPS_RETURN_IF_ERROR(staging.StateOut(args.dh0, args.dh_n, c.hidden_size(), &dh0));
  RNN_OPS_RETURN_IF_ERROR(staging.ParamsOut(weights, args.dparams, &dparams));
  if (IsLstm(args.problem)) {
    RNN_OPS_RETURN_IF_ERROR(staging.StateIn(args.c0, c.num_units, &c0));
    RNN_OPS_RETURN_IF_ERROR(staging.StateIn(args.dc_n, c.num_units, &dc_n));
    RNN_OPS_RETURN_IF_ERROR(staging.StateOut(args.dc0, args.dc_n, c.num_units, &dc0));
  }

  const size_t weight_size = static_cast<size_t>(weights.cudnn_bytes());
  const size_t work_size = static_cast<size_t>(descriptors.work_bytes());
  const size_t reserve_size = static_cast<size_t>(reserve_bytes);
  {
    const auto lock = plan->Lock();
    RNN_OPS_RETURN_IF_CUDNN_ERROR(
        api,
        RNNBackwardData_v8(handle, descriptors.rnn(), /*device_lengths=*/nullptr, descriptors.y(),
                           y, dy, descriptors.x(), dx, plan->h(), h0, dh_n, dh0, plan->c(), c0,
                           dc_n, dc0, weight_size, params, work_size, work, reserve_size, reserve));
    // After RNNBackwardData, because RNNBackwardWeights reads results of it from the reserve space.
    RNN_OPS_RETURN_IF_CUDNN_ERROR(
        api, RNNBackwardWeights_v8(handle, descriptors.rnn(), CUDNN_WGRAD_MODE_ADD,
                                   /*device_lengths=*/nullptr, descriptors.x(), x, plan->h(), h0,
                                   descriptors.y(), y, weight_size, dparams, work_size, work,
                                   reserve_size, reserve));
  }
  return staging.Finish();
}

Status RnnExecutor::Try(const RnnForwardArgs& args, const RnnGpuCall& call, cudnnHandle_t handle,
                        const RnnChoice& choice, RecyclingAllocator* scratch) {
  const RnnGpuCall trial_call{call.device, call.stream, scratch};
  scratch->Reset();
  RecordingAllocator reserve(scratch);
  // cuDNN accepts or rejects a problem independently of its lengths. One step costs the least.
  const std::vector<int32_t> one_step(static_cast<size_t>(args.problem.batch), 1);
  RnnForwardArgs forward = args;
  forward.problem.max_time = 1;
  forward.problem.lengths = one_step.data();
  forward.reserve = &reserve;
  forward.generator = nullptr;  // a trial must not change later masks
  RNN_OPS_RETURN_IF_ERROR(RunForward(forward, trial_call, handle, choice));
  if (!args.problem.is_training) return Status();
  RnnBackwardArgs backward;
  RNN_OPS_RETURN_IF_ERROR(MakeTrialBackward(forward, reserve, scratch, &backward));
  return RunBackward(backward, trial_call, handle, choice);
}

Status FindRnnParts(RnnExecutorParts* parts) {
  const DriverApi* driver = nullptr;
  RNN_OPS_RETURN_IF_ERROR(ParseAlgoPolicy(std::getenv("TF_RNN_OPS_CUDNN_ALGO"), &parts->policy));
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&driver));
  RNN_OPS_RETURN_IF_ERROR(GetDeviceOps(&parts->ops));
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&parts->cudnn));
  parts->traits = [driver](void* stream, DeviceTraits* traits) {
    return GetDeviceTraits(*driver, stream, traits);
  };
  return Status();
}

}  // namespace rnn_ops::gpu
