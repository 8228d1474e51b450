#include "cc/gpu/cudnn/rnn_algorithms.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "cc/gpu/cudnn/rnn_plan.h"

namespace rnn_ops::gpu {
namespace {

constexpr cudnnRNNAlgo_t kSmallH = CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H;
constexpr cudnnRNNAlgo_t kStatic = CUDNN_RNN_ALGO_PERSIST_STATIC;

bool HasGates(RnnMode mode) { return mode == RnnMode::kLstm || mode == RnnMode::kGru; }

// PERSIST_STATIC keeps the recurrent weights on the chip, so it needs a large GPU.
// SOURCE: PyTorch's RNN.cpp (get_algo), as for TakesSmallH().
bool FitsPersistStatic(const DeviceTraits& gpu) {
  constexpr int kAmpere = 8, kFewestMultiprocessors = 98;
  // cuDNN 8.0.5 fails for some sizes on compute capability 8.6.
  const bool fails = gpu.minor == 6;
  return gpu.major >= kAmpere && gpu.multiprocessors >= kFewestMultiprocessors && !fails;
}

// Note [Persistent rows]: the bounds below were measured on an H100 only, by tests/gpu/core/run.py
// --only stack-times (docs/design/measurements.md, "Algorithms of cuDNN"). Launches bound the time
// of a step of STANDARD, so that time does not depend on the size. The time of a step of
// PERSIST_STATIC in float32 grows with the batch size. In float16 it runs on tensor cores and is
// fast up to 128 sequences.

// The largest batch with which PERSIST_STATIC is faster than SMALL_H, in float32 or float16.
int64_t MostRowsAgainstSmallH(const RnnConfig& c, Dtype compute) {
  switch (c.mode) {
    case RnnMode::kLstm:
      if (c.num_units < 128) return 0;
      return c.num_units == 128 && compute == Dtype::kFloat32 ? 1 : 4;
    case RnnMode::kGru:
      return c.num_units <= 128 ? 0 : 4;
    case RnnMode::kTanh:
    case RnnMode::kRelu:
      return c.num_units <= 200 ? 0 : c.num_units <= 256 ? 2 : 16;
    default:
      return 0;
  }
}

// The largest batch with which PERSIST_STATIC is faster than STANDARD, in float32 or float16.
int64_t MostRowsAgainstStandard(const RnnConfig& c, Dtype compute) {
  constexpr int64_t kTile = 128;
  const bool on_tensor_cores = compute == Dtype::kFloat16 && c.num_units % kTile == 0 &&
                               c.input_size % kTile == 0 && c.batch % 8 == 0;
  if (!on_tensor_cores) return c.mode == RnnMode::kLstm && c.num_units > 768 ? 4 : 8;
  return c.mode == RnnMode::kGru && c.num_units > 768 ? 32 : 128;
}

}  // namespace

bool TakesSmallH(RnnMode mode, int64_t units, Pass pass) {
  if (HasGates(mode)) return units <= (pass == Pass::kForward ? 192 : 128);
  return units <= (pass == Pass::kForward ? 384 : 256);
}

RnnAlgos FastestAlgos(const RnnConfig& c, Dtype compute, const DeviceTraits& gpu) {
  constexpr int kPascal = 6;
  constexpr int64_t kMostUnits = 1024;  // larger sizes have not been measured
  if (c.num_proj > 0 || gpu.major < kPascal) return {};
  // cuDNN accepts bfloat16 with any algorithm, but is then no faster than with STANDARD.
  if (compute != Dtype::kFloat32 && compute != Dtype::kFloat16) return {};
  const bool small_backward = TakesSmallH(c.mode, c.num_units, Pass::kBackward);
  const bool small_forward = TakesSmallH(c.mode, c.num_units, Pass::kForward);
  if (FitsPersistStatic(gpu) && c.num_units <= kMostUnits) {
    const bool against_small = c.is_training ? small_backward : small_forward;
    const int64_t rows =
        against_small ? MostRowsAgainstSmallH(c, compute) : MostRowsAgainstStandard(c, compute);
    if (c.batch <= rows) return {kStatic, kStatic};
  }
  if (!small_forward) return {};
  return {kSmallH, small_backward ? kSmallH : CUDNN_RNN_ALGO_STANDARD};
}

namespace {

// Above these bounds persistent kernels do not exist or are slower, so no policy tries them. Below
// the bounds cuDNN decides whether a kernel exists.
constexpr int64_t kMostRowsOfPersist = 256;
constexpr int64_t kMostUnitsOfPersist = 1024;

// The largest number of calls between trials.
constexpr int64_t kLongestWait = 1 << 20;

constexpr struct {
  const char* name;
  AlgoPolicy policy;
} kPolicies[] = {
    {"heuristic", AlgoPolicy::kHeuristic},
    {"standard", AlgoPolicy::kStandard},
    {"persist_static", AlgoPolicy::kPersistStatic},
    {"small_h", AlgoPolicy::kSmallH},
};

// The persistent algorithms that may be tried for `key`, with arithmetic in the type `compute`.
std::vector<RnnChoice> PersistentChoices(AlgoPolicy policy, const RnnChoiceKey& key, Dtype compute,
                                         const DeviceTraits& gpu) {
  const RnnConfig& c = key.config;
  // cuDNN rejects persistent algorithms for sequences of different lengths and with projection.
  if (!key.full_length || c.num_proj > 0 || policy == AlgoPolicy::kStandard) return {};
  if (policy == AlgoPolicy::kHeuristic) {
    const RnnChoice choice = {FastestAlgos(c, compute, gpu), compute};
    if (choice.standard()) return {};
    return {choice};
  }
  if (c.batch > kMostRowsOfPersist || c.num_units > kMostUnitsOfPersist) return {};
  if (compute == Dtype::kFloat64) return {};
  if (policy == AlgoPolicy::kPersistStatic) {
    return {{{CUDNN_RNN_ALGO_PERSIST_STATIC, CUDNN_RNN_ALGO_PERSIST_STATIC}, compute}};
  }
  if (!TakesSmallH(c.mode, c.num_units, Pass::kForward)) return {};
  const cudnnRNNAlgo_t backward = TakesSmallH(c.mode, c.num_units, Pass::kBackward)
                                      ? CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H
                                      : CUDNN_RNN_ALGO_STANDARD;
  return {{{CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, backward}, compute}};
}

}  // namespace

Status ParseAlgoPolicy(const char* text, AlgoPolicy* policy) {
  *policy = AlgoPolicy::kHeuristic;
  if (text == nullptr || *text == '\0') return Status();
  std::string names;
  for (const auto& known : kPolicies) {
    if (std::string_view(text) == known.name) {
      *policy = known.policy;
      return Status();
    }
    names += StrCat(names.empty() ? "'" : ", '", known.name, "'");
  }
  return InvalidArgument("TF_RNN_OPS_CUDNN_ALGO must be one of ", names, ", but it is '", text,
                         "'.");
}

// From the lowest bit: two bits for each algorithm, and one bit for cuDNN computing in float32
// although the tensors have another type.
int8_t CodeOf(const RnnChoice& choice, Dtype dtype) {
  const int widened = choice.compute != dtype ? 1 : 0;
  return static_cast<int8_t>(1 + choice.algos.forward + 4 * choice.algos.backward + 16 * widened);
}

Status ChoiceOf(int8_t code, Dtype dtype, RnnChoice* choice) {
  const int bits = code - 1;
  const bool widened = bits >= 16;
  if (bits < 0 || bits >= 32 || (widened && dtype != Dtype::kBFloat16)) {
    return InvalidArgument(
        "host_reserved must be the output of the forward op with is_training=True on a GPU for "
        "these inputs and attributes, but it is ",
        static_cast<int>(code), ".");
  }
  choice->algos.forward = static_cast<cudnnRNNAlgo_t>(bits % 4);
  choice->algos.backward = static_cast<cudnnRNNAlgo_t>(bits / 4 % 4);
  choice->compute = widened ? Dtype::kFloat32 : dtype;
  return Status();
}

std::vector<RnnChoice> RnnCandidates(AlgoPolicy policy, const RnnChoiceKey& key,
                                     const DeviceTraits& gpu) {
  const bool bfloat16 = key.dtype == Dtype::kBFloat16;
  // Note [Persistent bfloat16]: cuDNN accepts bfloat16 with persistent algorithms, but is then as
  // slow as with STANDARD. float32 arithmetic with copies around it is up to 16 times as fast
  // (docs/design/measurements.md, "Algorithms of cuDNN").
  std::vector<RnnChoice> result =
      PersistentChoices(policy, key, bfloat16 ? Dtype::kFloat32 : key.dtype, gpu);
  result.push_back({{}, key.dtype});
  // cuDNN accepts bfloat16 from version 9.14 on, and only on some GPUs.
  if (bfloat16) result.push_back({{}, Dtype::kFloat32});
  return result;
}

bool RnnChoiceTable::Before::operator()(const RnnChoiceKey& a, const RnnChoiceKey& b) const {
  const auto fields = [](const RnnChoiceKey& k) {
    const RnnConfig& c = k.config;
    return std::tie(k.device, c.mode, c.input_mode, c.direction, c.num_layers, c.num_units,
                    c.input_size, c.num_proj, c.max_time, c.batch, c.dropout, c.is_training,
                    c.time_major, k.dtype, k.full_length);
  };
  return fields(a) < fields(b);
}

// cuDNN accepts or rejects an algorithm independently of the number of steps, and STANDARD also
// independently of the batch size. So the table has one entry for each network. If a persistent
// algorithm is a candidate, the table has one entry for each network and batch size.
RnnChoiceKey RnnChoiceTable::Generalize(RnnChoiceKey key,
                                        const std::vector<RnnChoice>& candidates) {
  key.config.max_time = 0;
  if (std::all_of(candidates.begin(), candidates.end(),
                  [](const RnnChoice& c) { return c.standard(); })) {
    key.config.batch = 0;
  }
  return key;
}

bool RnnChoiceTable::Lookup(const RnnChoiceKey& general, RnnChoice* choice) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = choices_.find(general);
  if (found == choices_.end()) return false;
  Entry& entry = found->second;
  *choice = entry.choice;
  return entry.final || --entry.left >= 0;
}

void RnnChoiceTable::Choose(const RnnChoiceKey& key, const DeviceTraits& gpu, const Trial& trial,
                            RnnChoice* choice) {
  const std::vector<RnnChoice> candidates = RnnCandidates(policy_, key, gpu);
  *choice = candidates[0];
  if (candidates.size() == 1) return;
  const RnnChoiceKey general = Generalize(key, candidates);
  if (Lookup(general, choice)) return;
  const bool final = Decide(candidates, trial, choice);
  std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = choices_[general];
  // If two threads ran trials at the same time, both use the first final choice.
  if (!entry.final) {
    entry = {*choice, final, std::min(2 * entry.wait + 1, kLongestWait), /*left=*/entry.wait};
  }
  *choice = entry.choice;
}

bool RnnChoiceTable::Decide(const std::vector<RnnChoice>& candidates, const Trial& trial,
                            RnnChoice* choice) {
  bool final = true;
  *choice = candidates.back();
  for (const RnnChoice& candidate : candidates) {
    if (&candidate == &candidates.back()) break;  // the last candidate needs no trial
    const Status status = trial(candidate);
    const bool lacks = status.code() == Code::kResourceExhausted;
    // WHY any error skips the candidate: cuDNN reports unsupported problems with several statuses.
    // Some of them, such as EXECUTION_FAILED, may also be due to the state of the device.
    // If the last candidate fails for the same reason, the call itself reports the error. A trial
    // needs more memory than the call, so the call may succeed although the trial lacked memory.
    final &= status.ok() || status.code() == Code::kUnimplemented;
    if (!status.ok() && !(lacks && candidate.standard())) continue;
    *choice = candidate;
    break;
  }
  return final;
}

size_t RnnChoiceTable::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<size_t>(std::count_if(choices_.begin(), choices_.end(),
                                           [](const auto& choice) { return choice.second.final; }));
}

}  // namespace rnn_ops::gpu
