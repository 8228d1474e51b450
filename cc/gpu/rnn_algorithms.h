// Which of cuDNN's algorithms, and which type inside, a configuration runs with.
#ifndef TF_RNN_OPS_CC_GPU_RNN_ALGORITHMS_H_
#define TF_RNN_OPS_CC_GPU_RNN_ALGORITHMS_H_

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/cudnn_min.h"
#include "cc/gpu/dtype.h"
#include "cc/gpu/rnn_plan.h"

namespace rnn_ops {
namespace gpu {

// What TF_RNN_OPS_CUDNN_ALGO asks for.
enum class AlgoPolicy {
  kStandard,        // the default: never measured, so the same in every run
  kAuto,            // the fastest, measured once for each configuration
  kPersistStatic,   // this one wherever cuDNN takes it, STANDARD elsewhere
  kPersistDynamic,  // likewise
  kSmallH,          // likewise
};

// "standard", "auto", "persist_static", "persist_dynamic" or "small_h"; null and "" mean standard.
Status ParseAlgoPolicy(const char* text, AlgoPolicy* policy);

struct RnnChoice {
  cudnnRNNAlgo_t algo = CUDNN_RNN_ALGO_STANDARD;
  Dtype compute = Dtype::kFloat32;
};

// All that may be chosen, the one to prefer without a measurement first. The last one is
// {STANDARD, float32} for 16-bit tensors that cuDNN may refuse, otherwise {STANDARD, dtype}.
std::vector<RnnChoice> RnnCandidates(AlgoPolicy policy, const RnnPlanKey& key, Dtype dtype);

// The choices made so far. Never forgotten: backward must use forward's, because the reserve space
// means something else to another algorithm.
class RnnChoiceTable {
 public:
  // Runs the problem with a candidate and says how long it took.
  using Trial = std::function<Status(const RnnChoice& candidate, double* seconds)>;

  // False when no forward pass has chosen for `key` yet.
  bool Find(const RnnPlanKey& key, Dtype dtype, RnnChoice* choice) const;

  // The choice for `key`. When it is new: the first candidate that cuDNN takes or, if `measure`,
  // the fastest; the last candidate is taken untried where no other was. A candidate that fails in
  // any way is passed over, but the standard algorithm that only lacked memory is taken.
  Status Choose(const RnnPlanKey& key, Dtype dtype, const std::vector<RnnChoice>& candidates,
                bool measure, const Trial& trial, RnnChoice* choice);

 private:
  using Key = std::pair<RnnPlanKey, Dtype>;
  static Key MakeKey(const RnnPlanKey& key, Dtype dtype);

  mutable std::mutex mutex_;
  std::map<Key, RnnChoice> choices_;
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_RNN_ALGORITHMS_H_
