// Which of cuDNN's algorithms, and which type inside, a problem runs with.
#ifndef TF_RNN_OPS_CC_GPU_RNN_ALGORITHMS_H_
#define TF_RNN_OPS_CC_GPU_RNN_ALGORITHMS_H_

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "cc/core/network/dtype.h"
#include "cc/core/network/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/cudnn_min.h"
#include "cc/gpu/device_traits.h"
#include "cc/gpu/rnn_heuristics.h"

namespace rnn_ops {
namespace gpu {

// What TF_RNN_OPS_CUDNN_ALGO asks for. Each gives the same in every run that has the memory to try
// it.
enum class AlgoPolicy {
  kHeuristic,      // the default: rnn_heuristics.h
  kStandard,       // always this one, as TensorFlow's own ops
  kPersistStatic,  // this one wherever cuDNN takes it, STANDARD elsewhere
  kSmallH,         // likewise
};

// One of "heuristic", "standard", "persist_static" and "small_h"; null and "" mean heuristic.
Status ParseAlgoPolicy(const char* text, AlgoPolicy* policy);

// A problem as far as a choice depends on it.
struct RnnChoiceKey {
  int device = 0;
  RnnConfig config;
  Dtype dtype = Dtype::kFloat32;  // of the tensors
  bool full_length = true;        // every row has T steps
};

struct RnnChoice {
  RnnAlgos algos;
  Dtype compute = Dtype::kFloat32;

  bool standard() const {
    return algos.forward == CUDNN_RNN_ALGO_STANDARD && algos.backward == CUDNN_RNN_ALGO_STANDARD;
  }
};

// A choice as one byte: host_reserved carries it from forward to backward, whose reserve space
// means something else to another algorithm. So backward may run in another library or process, or
// under another policy. Never 0. `dtype`: of the tensors.
int8_t CodeOf(const RnnChoice& choice, Dtype dtype);
// InvalidArgument for a code that CodeOf does not give.
Status ChoiceOf(int8_t code, Dtype dtype, RnnChoice* choice);

// All that may be chosen, the one to prefer without a measurement first. The last one is STANDARD,
// in float32 for bfloat16 tensors, since cuDNN may refuse those, otherwise in the tensors' type.
std::vector<RnnChoice> RnnCandidates(AlgoPolicy policy, const RnnChoiceKey& key,
                                     const DeviceTraits& gpu);

// The choices made so far.
class RnnChoiceTable {
 public:
  // Runs a step of the problem with a candidate.
  using Trial = std::function<Status(const RnnChoice& candidate)>;

  explicit RnnChoiceTable(AlgoPolicy policy) : policy_(policy) {}

  // The choice for `key`. When it is new: the first candidate that cuDNN takes; the last one is
  // taken untried where no other was. Skips a candidate on any error, except STANDARD on
  // ResourceExhausted, which is taken. A choice after a trial that lacked memory is for this call
  // only.
  void Choose(const RnnChoiceKey& key, const DeviceTraits& gpu, const Trial& trial,
              RnnChoice* choice);

  size_t size() const;

 private:
  struct Before {
    bool operator()(const RnnChoiceKey& a, const RnnChoiceKey& b) const;
  };

  // The key of all problems that share a choice.
  static RnnChoiceKey Generalize(RnnChoiceKey key, const std::vector<RnnChoice>& candidates);
  bool Lookup(const RnnChoiceKey& general, RnnChoice* choice) const;
  // Returns whether the choice would be the same with more memory.
  static bool Decide(const std::vector<RnnChoice>& candidates, const Trial& trial,
                     RnnChoice* choice);

  const AlgoPolicy policy_;
  mutable std::mutex mutex_;
  std::map<RnnChoiceKey, RnnChoice, Before> choices_;
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_RNN_ALGORITHMS_H_
