// Where an executor takes device memory from: the caller, that is TensorFlow's allocator.
#ifndef TF_RNN_OPS_CC_GPU_DEVICE_ALLOCATOR_H_
#define TF_RNN_OPS_CC_GPU_DEVICE_ALLOCATOR_H_

#include <cstdint>

#include "cc/core/status.h"

namespace rnn_ops {
namespace gpu {

// Scratch for one call of an executor. The caller frees all of it when the executor has returned;
// that must be ordered on the stream, since the work is only enqueued by then. TensorFlow's
// allocator is.
class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;
  // At least `bytes` bytes, aligned to 256; null when there is no memory. bytes > 0.
  virtual void* Allocate(int64_t bytes) = 0;
};

// As Allocate(), but a failure is ResourceExhausted and names what the memory was for. 0 bytes give
// null.
inline Status AllocateScratch(DeviceAllocator* allocator, const char* purpose, int64_t bytes,
                              void** memory) {
  *memory = nullptr;
  if (bytes == 0) return Status();
  *memory = allocator->Allocate(bytes);
  if (*memory != nullptr) return Status();
  return Status(Code::kResourceExhausted,
                StrCat("There is no GPU memory for ", purpose, " of ", bytes, " bytes."));
}

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_DEVICE_ALLOCATOR_H_
