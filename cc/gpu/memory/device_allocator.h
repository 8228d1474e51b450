// The interface through which executors allocate device memory. TensorFlow's allocator implements
// it.
#pragma once

#include <cstdint>

#include "cc/core/status.h"

namespace rnn_ops::gpu {

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

}  // namespace rnn_ops::gpu
