#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu {

void* RecyclingAllocator::Allocate(int64_t bytes) {
  Block* best = nullptr;
  for (Block& block : blocks_) {
    if (block.used || block.bytes < bytes) continue;
    if (best == nullptr || block.bytes < best->bytes) best = &block;
  }
  if (best == nullptr) {
    void* memory = base_->Allocate(bytes);
    if (memory == nullptr) return nullptr;
    blocks_.push_back({memory, bytes, false});
    best = &blocks_.back();
  }
  best->used = true;
  return best->memory;
}

void RecyclingAllocator::Reset() {
  for (Block& block : blocks_) block.used = false;
}

}  // namespace rnn_ops::gpu
