// Copies between a call's tensors and cuDNN's buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/cudnn/rnn_plan.h"
#include "cc/gpu/launch/device_ops.h"
#include "cc/gpu/problem/stack_problem.h"

namespace rnn_ops::gpu {

// The steps of an output after the end of a sequence. cuDNN's documentation promises zeros only for
// y.
enum class Padding { kZeroByCudnn, kLeftByCudnn };

// cuDNN reads and writes the call's tensors directly where it can. A copy is made if the type
// differs, if batch-major states [B, L*D, S] must become [L*D, B, S], if the weights have another
// layout, or if a sequence has length 0.
//
// Note [Rows of length 0]: cuDNN may reject such sequences. Such a sequence runs with length 1,
// zero input, zero states and zero gradients. So its results are finite whatever its padding
// contains, it adds nothing to any gradient, and it does not affect other sequences. Its results
// are overwritten afterwards: the output and the gradient of the input become zero, the final
// states become the initial states, and the gradients of the initial states become the gradients of
// the final states.
class RnnStaging {
 public:
  // All arguments must outlive this object.
  RnnStaging(const DeviceOps& ops, const StackProblem& problem, Dtype compute,
             const RnnGpuCall& call);

  // Call it before the functions below. Copies the lengths to the device if a length is 0.
  Status Init();

  // The lengths for cuDNN, each at least 1.
  const std::vector<int>& lengths() const { return lengths_; }

  // *cudnns: the tensor [T, B, width] or [B, T, width] in cuDNN's form.
  Status SequenceIn(const void* user, int64_t width, const void** cudnns);
  // *cudnns: the states [L*D, B, width] in cuDNN's form.
  Status StateIn(const void* user, int64_t width, const void** cudnns);
  Status ParamsIn(const WeightMap& map, const void* user, const void** cudnns);

  // *cudnns: the buffer that cuDNN must write. Finish() converts the result into `user`.
  Status SequenceOut(void* user, int64_t width, Padding padding, void** cudnns);
  // `initial`: the values for sequences of length 0, in the shape of `user`.
  Status StateOut(void* user, const void* initial, int64_t width, void** cudnns);
  // *cudnns is zero at first, because cuDNN adds to it. `map` must live until Finish().
  Status ParamsOut(const WeightMap& map, void* user, void** cudnns);

  Status Finish();

  // Scratch memory of the call; null for 0 bytes.
  Status Scratch(const char* purpose, int64_t bytes, void** memory);

 private:
  struct Output {
    void* user;
    void* cudnns;
    const void* initial;
    int64_t width;
  };

  bool converts() const { return compute_ != problem_.dtype; }
  bool swaps_states() const;
  int64_t SequenceSize(int64_t width) const;  // elements
  int64_t StateSize(int64_t width) const;
  SequenceShape Sequence(int64_t width) const;
  StateShape UserState(int64_t width) const;

  // *to: `from` converted to the other type, in new scratch memory; `from` itself if the types are
  // equal.
  Status Widen(const char* purpose, const void* from, int64_t size, const void** to);
  Status FinishSequence(const Output& out);
  Status FinishState(const Output& out);
  Status FinishParams();

  const DeviceOps& ops_;
  const StackProblem& problem_;
  const Dtype compute_;
  const RnnGpuCall& call_;
  std::vector<int> lengths_;
  bool full_ = true;        // every sequence has T steps
  bool any_empty_ = false;  // some sequence has no steps
  const int32_t* device_lengths_ = nullptr;
  std::vector<Output> sequences_, states_;
  const WeightMap* params_map_ = nullptr;
  Output params_{};
};

}  // namespace rnn_ops::gpu
