// Between a call's tensors and the buffers that cuDNN gets.
#ifndef TF_RNN_OPS_CC_GPU_RNN_STAGING_H_
#define TF_RNN_OPS_CC_GPU_RNN_STAGING_H_

#include <cstdint>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/elementwise.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/gpu/weight_map.h"

namespace rnn_ops {
namespace gpu {

// What becomes of the steps behind a row's end: cuDNN's documentation promises zeros for y alone.
enum class Padding { kZeroByCudnn, kLeftByCudnn };

// A tensor is handed through as it is wherever cuDNN takes it. A copy is made where the type
// differs, where batch-major states [B, L*D, S] have to become [L*D, B, S], where the weights lie
// elsewhere, and where a row has length 0.
//
// Note [Rows of length 0]: cuDNN refuses them, or may. Such a row runs as one of length 1, with a
// zero input, zero states and zero gradients, so it is finite whatever its padding holds, adds
// nothing to any gradient, and no other row sees it. What it gave is then overwritten: its output
// and input gradient by zero, its final states by its initial ones, its gradients by those passed
// in.
class RnnStaging {
 public:
  // Everything outlives this object.
  RnnStaging(const DeviceOps& ops, const RnnProblem& problem, Dtype compute,
             const RnnGpuCall& call);

  // Before the functions below. Sends the lengths to the device when one of them is 0.
  Status Init();

  // What cuDNN gets: each at least 1.
  const std::vector<int>& lengths() const { return lengths_; }

  // *cudnns: the tensor [T, B, width] or [B, T, width] as cuDNN reads it.
  Status SequenceIn(const void* user, int64_t width, const void** cudnns);
  // *cudnns: the states [L*D, B, width] as cuDNN reads them.
  Status StateIn(const void* user, int64_t width, const void** cudnns);
  Status ParamsIn(const WeightMap& map, const void* user, const void** cudnns);

  // *cudnns: where cuDNN shall write. Finish() brings it to `user`.
  Status SequenceOut(void* user, int64_t width, Padding padding, void** cudnns);
  // Rows of length 0 take their values from `initial`, of the shape of `user`.
  Status StateOut(void* user, const void* initial, int64_t width, void** cudnns);
  // Zero at first, since cuDNN adds to it. `map` lives until Finish().
  Status ParamsOut(const WeightMap& map, void* user, void** cudnns);

  Status Finish();

  // Scratch of the call; null for 0 bytes.
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

  // *to: `from` in the other type, in new scratch; `from` itself where the types agree.
  Status Widen(const char* purpose, const void* from, int64_t size, const void** to);
  Status FinishSequence(const Output& out);
  Status FinishState(const Output& out);
  Status FinishParams();

  const DeviceOps& ops_;
  const RnnProblem& problem_;
  const Dtype compute_;
  const RnnGpuCall& call_;
  std::vector<int> lengths_;
  bool full_ = true;        // every row has T steps
  bool any_empty_ = false;  // some row has none
  const int32_t* device_lengths_ = nullptr;
  std::vector<Output> sequences_, states_;
  const WeightMap* params_map_ = nullptr;
  Output params_{};
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_RNN_STAGING_H_
