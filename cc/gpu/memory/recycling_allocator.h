// Scratch memory that one call uses several times.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu {

// Allocates the same memory again after Reset(). Correct on one stream, which runs its work in
// order.
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

}  // namespace rnn_ops::gpu
