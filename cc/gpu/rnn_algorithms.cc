#include "cc/gpu/rnn_algorithms.h"

#include <string_view>

namespace rnn_ops {
namespace gpu {
namespace {

// Beyond these, persistent kernels do not exist or do not pay, so they are not tried. cuDNN has the
// last word on what remains.
constexpr int64_t kMostPersistentRows = 256;
constexpr int64_t kMostPersistentUnits = 1024;
constexpr int64_t kMostSmallH = 384;

// No measurement for a configuration after this many: shapes that keep changing would never stop
// measuring.
constexpr size_t kMostMeasured = 4096;

constexpr struct {
  const char* name;
  AlgoPolicy policy;
} kPolicies[] = {
    {"standard", AlgoPolicy::kStandard},
    {"auto", AlgoPolicy::kAuto},
    {"persist_static", AlgoPolicy::kPersistStatic},
    {"persist_dynamic", AlgoPolicy::kPersistDynamic},
    {"small_h", AlgoPolicy::kSmallH},
};

bool Wants(AlgoPolicy policy, AlgoPolicy algo) {
  return policy == algo || policy == AlgoPolicy::kAuto;
}

// The persistent algorithms that `key` may be tried with.
std::vector<cudnnRNNAlgo_t> PersistentAlgos(AlgoPolicy policy, const RnnPlanKey& key,
                                            Dtype compute) {
  const RnnConfig& c = key.config;
  // WHY full_length: persistent kernels over rows of different lengths are not tried on any GPU
  // yet.
  const bool may_persist = c.num_proj == 0 && key.full_length && c.batch <= kMostPersistentRows &&
                           c.num_units <= kMostPersistentUnits;
  std::vector<cudnnRNNAlgo_t> result;
  if (!may_persist) return result;
  if (Wants(policy, AlgoPolicy::kPersistStatic) && compute != Dtype::kFloat64) {
    result.push_back(CUDNN_RNN_ALGO_PERSIST_STATIC);
  }
  if (Wants(policy, AlgoPolicy::kSmallH) && compute != Dtype::kFloat64 &&
      c.num_units <= kMostSmallH) {
    result.push_back(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H);
  }
  // With dropout each call has a descriptor of its own, and this algorithm compiles for each.
  if (Wants(policy, AlgoPolicy::kPersistDynamic) && !key.has_dropout()) {
    result.push_back(CUDNN_RNN_ALGO_PERSIST_DYNAMIC);
  }
  return result;
}

int64_t RoundUpToPowerOfTwo(int64_t value) {
  int64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

}  // namespace

Status ParseAlgoPolicy(const char* text, AlgoPolicy* policy) {
  *policy = AlgoPolicy::kStandard;
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

std::vector<RnnChoice> RnnCandidates(AlgoPolicy policy, const RnnPlanKey& key, Dtype dtype) {
  std::vector<RnnChoice> result;
  for (cudnnRNNAlgo_t algo : PersistentAlgos(policy, key, dtype)) result.push_back({algo, dtype});
  result.push_back({CUDNN_RNN_ALGO_STANDARD, dtype});
  // cuDNN takes bfloat16 from 9.14 on, and only on some GPUs.
  if (dtype == Dtype::kBFloat16) result.push_back({CUDNN_RNN_ALGO_STANDARD, Dtype::kFloat32});
  return result;
}

RnnChoiceTable::Key RnnChoiceTable::MakeKey(const RnnPlanKey& key, Dtype dtype) {
  RnnPlanKey general = key;
  general.stream = nullptr;  // backward may run on another one
  general.algo = CUDNN_RNN_ALGO_STANDARD;
  general.compute = dtype;
  general.allow_tf32 = false;  // forward and backward may see different settings of it
  // One measurement serves all lengths of about this size.
  general.config.max_time = RoundUpToPowerOfTwo(key.config.max_time);
  return Key(general, dtype);
}

bool RnnChoiceTable::Find(const RnnPlanKey& key, Dtype dtype, RnnChoice* choice) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = choices_.find(MakeKey(key, dtype));
  if (found == choices_.end()) return false;
  *choice = found->second;
  return true;
}

Status RnnChoiceTable::Choose(const RnnPlanKey& key, Dtype dtype,
                              const std::vector<RnnChoice>& candidates, bool measure,
                              const Trial& trial, RnnChoice* choice) {
  if (candidates.size() == 1) {
    *choice = candidates[0];
    return Status();
  }
  if (Find(key, dtype, choice)) return Status();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    measure = measure && choices_.size() < kMostMeasured;
  }
  bool found = false;
  double best = 0;
  for (const RnnChoice& candidate : candidates) {
    const bool converts = candidate.compute != dtype;  // a last resort, never the faster one
    if (found && (!measure || converts)) break;
    if (!found && &candidate == &candidates.back()) {
      *choice = candidate;  // nothing left to compare it with
      break;
    }
    double seconds = 0;
    const Status status = trial(candidate, &seconds);
    if (!status.ok()) {
      // WHY whatever the failure: cuDNN has several statuses for what it does not take. Where the
      // last candidate fails for the same reason, the call itself reports it.
      const bool standard = candidate.algo == CUDNN_RNN_ALGO_STANDARD;
      if (found || !standard || status.code() != Code::kResourceExhausted) continue;
      // A trial takes more memory than the call, which may have enough of it.
      *choice = candidate;
      break;
    }
    if (!found || seconds < best) {
      *choice = candidate;
      best = seconds;
    }
    found = true;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  // Of two threads that tried at once, the first one's choice holds.
  *choice = choices_.emplace(MakeKey(key, dtype), *choice).first->second;
  return Status();
}

}  // namespace gpu
}  // namespace rnn_ops
