// Runs a problem in scratch memory, to test whether cuDNN accepts it.
#pragma once

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/memory/device_allocator.h"
#include "cc/gpu/rnn_gpu.h"

namespace rnn_ops::gpu {

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
                         DeviceAllocator* scratch, RnnBackwardArgs* backward);

}  // namespace rnn_ops::gpu
