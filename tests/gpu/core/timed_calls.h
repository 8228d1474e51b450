// Memory and timing of calls, for the two C interfaces of the GPU core.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "cc/core/status.h"
#include "cc/gpu/libraries/driver_api.h"
#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu {

// Allocates device memory of `bytes` bytes. Returns null if there is none.
using AllocateFn = void* (*)(int64_t bytes);

class CallbackAllocator : public DeviceAllocator {
 public:
  explicit CallbackAllocator(AllocateFn allocate) : allocate_(allocate) {}
  void* Allocate(int64_t bytes) override { return allocate_(bytes); }

 private:
  AllocateFn allocate_;
};

// Allocates pieces of one block, so that no Python code runs while calls are timed.
class BlockAllocator : public DeviceAllocator {
 public:
  BlockAllocator(void* block, int64_t bytes) : block_(static_cast<char*>(block)), bytes_(bytes) {}
  void* Allocate(int64_t bytes) override {
    constexpr int64_t kAlignment = 256;
    const int64_t next = used_ + (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (next > bytes_) return nullptr;
    void* const memory = block_ + used_;
    used_ = next;
    return memory;
  }
  void* block() const { return block_; }
  int64_t used() const { return used_; }
  void Reset() { used_ = 0; }

 private:
  char* const block_;
  const int64_t bytes_;
  int64_t used_ = 0;
};

// Measures the seconds of one step in a series of `runs` steps on a stream: the maximum of the
// device's time and the host's time.
inline Status TimeRuns(void* stream, int32_t runs, const std::function<Status()>& step,
                       double* seconds) {
  const DriverApi* driver = nullptr;
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&driver));
  const CUstream on = static_cast<CUstream>(stream);
  RNN_OPS_RETURN_IF_CUDA_ERROR(*driver, StreamSynchronize(on));
  const auto start = std::chrono::steady_clock::now();
  for (int32_t run = 0; run < runs; ++run) RNN_OPS_RETURN_IF_ERROR(step());
  RNN_OPS_RETURN_IF_CUDA_ERROR(*driver, StreamSynchronize(on));
  *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs;
  return Status();
}

}  // namespace rnn_ops::gpu
