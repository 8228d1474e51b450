// Device memory: the interface through which it is allocated, and an allocator that recycles it.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/core/status.h"

namespace rnn_ops::gpu {

// The interface through which executors allocate device memory. TensorFlow's allocator implements
// it.

// Scratch memory for one call of an executor. The caller frees all memory after the executor has
// returned. The work is only enqueued by then, so the allocator must free memory in the order of
// the stream. TensorFlow's allocator does.
class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;
  // Returns at least `bytes` bytes, aligned to 256, or null if there is no memory. bytes > 0.
  virtual void* Allocate(int64_t bytes) = 0;
};

// Like Allocate(), but returns ResourceExhausted with `purpose` in the message if there is no
// memory. *memory is null if `bytes` is 0.
inline Status AllocateScratch(DeviceAllocator* allocator, const char* purpose, int64_t bytes,
                              void** memory) {
  *memory = nullptr;
  if (bytes == 0) return Status();
  *memory = allocator->Allocate(bytes);
  if (*memory != nullptr) return Status();
  return Status(Code::kResourceExhausted,
                StrCat("There is no GPU memory for ", purpose, " of ", bytes, " bytes."));
}

// Scratch memory that one call uses several times.

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
