// The choice of cuDNN's algorithm and of the type of the arithmetic for a problem.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/libraries/cudnn_min.h"
#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu {

// Predicts the fastest of cuDNN's algorithms. Pure functions of the problem and the GPU, so the
// same problem runs with the same algorithm in every run.

enum class Pass { kForward, kBackward };

// Whether PERSIST_STATIC_SMALL_H accepts `units` units. SOURCE: PyTorch's RNN.cpp (get_algo).
bool TakesSmallH(RnnMode mode, int64_t units, Pass pass);

// Backward may differ from forward: STANDARD can read the reserve space of PERSIST_STATIC_SMALL_H.
struct RnnAlgos {
  cudnnRNNAlgo_t forward = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNAlgo_t backward = CUDNN_RNN_ALGO_STANDARD;
};

// For sequences of one length. Sequences of different lengths must run with STANDARD.
RnnAlgos FastestAlgos(const RnnConfig& config, Dtype compute, const DeviceTraits& gpu);

// The values of TF_RNN_OPS_CUDNN_ALGO. A policy makes the same choice in every run, provided that
// no trial fails for a while, for example because memory is short.
enum class AlgoPolicy {
  kHeuristic,      // the default, see FastestAlgos
  kStandard,       // always STANDARD, like TensorFlow's own ops
  kPersistStatic,  // PERSIST_STATIC if cuDNN accepts it, otherwise STANDARD
  kSmallH,         // PERSIST_STATIC_SMALL_H if cuDNN accepts it, otherwise STANDARD
};

// `text`: "heuristic", "standard", "persist_static" or "small_h"; null and "" mean heuristic.
Status ParseAlgoPolicy(const char* text, AlgoPolicy* policy);

// The part of a problem that a choice depends on.
struct RnnChoiceKey {
  int device = 0;
  RnnConfig config;
  Dtype dtype = Dtype::kFloat32;  // of the tensors
  bool full_length = true;        // every sequence has T steps
};

struct RnnChoice {
  RnnAlgos algos;
  Dtype compute = Dtype::kFloat32;

  bool standard() const {
    return algos.forward == CUDNN_RNN_ALGO_STANDARD && algos.backward == CUDNN_RNN_ALGO_STANDARD;
  }
};

// A choice as one byte from 1 to 32. The output host_reserved passes the byte from forward to
// backward, because another algorithm would misread the reserve space. So backward may run in
// another library, in another process or under another policy. `dtype`: the type of the tensors.
int8_t CodeOf(const RnnChoice& choice, Dtype dtype);
// Returns InvalidArgument for a code that CodeOf never returns.
Status ChoiceOf(int8_t code, Dtype dtype, RnnChoice* choice);

// All possible choices, in the order of preference without a measurement. The last choice is
// STANDARD. Its arithmetic has the type of the tensors; for bfloat16 it is float32, because cuDNN
// may reject bfloat16.
std::vector<RnnChoice> RnnCandidates(AlgoPolicy policy, const RnnChoiceKey& key,
                                     const DeviceTraits& gpu);

// Stores the choices of an executor.
class RnnChoiceTable {
 public:
  // Runs one step of the problem with a candidate.
  using Trial = std::function<Status(const RnnChoice& candidate)>;

  explicit RnnChoiceTable(AlgoPolicy policy) : policy_(policy) {}

  // Sets *choice to the choice for `key`. For a new key: the first candidate whose trial succeeds,
  // or the last candidate (without a trial) if there is none. Skips a candidate on any error,
  // except STANDARD on ResourceExhausted, which is chosen. The choice is final unless a trial
  // failed with another code than Unimplemented, such as ResourceExhausted. Then the trials are
  // repeated later, each time after twice as many calls.
  void Choose(const RnnChoiceKey& key, const DeviceTraits& gpu, const Trial& trial,
              RnnChoice* choice);

  size_t size() const;  // the number of final choices

 private:
  struct Entry {
    RnnChoice choice;
    bool final = false;
    // Unless final: the number of calls between the last trials and the next trials, and how many
    // of these calls are left.
    int64_t wait = 0;
    int64_t left = 0;
  };

  struct Before {
    bool operator()(const RnnChoiceKey& a, const RnnChoiceKey& b) const;
  };

  // The common key of all problems with the same choice.
  static RnnChoiceKey Generalize(RnnChoiceKey key, const std::vector<RnnChoice>& candidates);
  // Returns false if it is time for trials.
  bool Lookup(const RnnChoiceKey& general, RnnChoice* choice);
  // Returns whether the choice is final.
  static bool Decide(const std::vector<RnnChoice>& candidates, const Trial& trial,
                     RnnChoice* choice);

  const AlgoPolicy policy_;
  mutable std::mutex mutex_;
  std::map<RnnChoiceKey, Entry, Before> choices_;
};

}  // namespace rnn_ops::gpu
