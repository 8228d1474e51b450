// One problem run in scratch, to see whether cuDNN takes it and how fast.
#ifndef TF_RNN_OPS_CC_GPU_RNN_TRIAL_H_
#define TF_RNN_OPS_CC_GPU_RNN_TRIAL_H_

#include <cstdint>
#include <map>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/device_allocator.h"
#include "cc/gpu/rnn_gpu.h"

namespace rnn_ops {
namespace gpu {

// Hands out the same memory again after Reset(). Sound on one stream, where work runs in order.
class RecyclingAllocator : public DeviceAllocator {
 public:
  explicit RecyclingAllocator(DeviceAllocator* base) : base_(base) {}
  void* Allocate(int64_t bytes) override;
  void Reset();

 private:
  struct Block {
    void* memory;
    int64_t bytes;
    bool used;
  };
  DeviceAllocator* const base_;
  std::vector<Block> blocks_;
};

// Remembers the one allocation that passes through.
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

// The arguments of a backward call that fits `forward`, whose outputs serve as gradients; all of
// its outputs in scratch.
Status MakeTrialBackward(const RnnForwardArgs& forward, const RecordingAllocator& reserve,
                         DeviceAllocator* scratch, RnnBackwardArgs* backward);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_RNN_TRIAL_H_
