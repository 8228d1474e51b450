// cuDNN handles. Only one call at a time uses a handle.
#ifndef TF_RNN_OPS_CC_GPU_HANDLE_POOL_H_
#define TF_RNN_OPS_CC_GPU_HANDLE_POOL_H_

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cc/core/status.h"
#include "cc/gpu/descriptors.h"

namespace rnn_ops {
namespace gpu {

// Each (device, stream) has one handle, and calls on the stream wait for each other.
// WHY one handle: creating a handle takes milliseconds, two threads must not use a handle at once,
// and a handle holds device memory outside the caller's allocator. The stream runs its calls one
// after the other anyway.
class HandlePool {
  struct Place {
    std::unique_ptr<CudnnHandle> handle;  // null: not created yet
    bool taken = false;
  };

 public:
  // Exclusive use of a handle until the lease is destroyed.
  class Lease {
   public:
    Lease() = default;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    cudnnHandle_t get() const { return place_->handle->get(); }

   private:
    friend class HandlePool;
    HandlePool* pool_ = nullptr;
    Place* place_ = nullptr;
  };

  explicit HandlePool(const CudnnApi* api) : api_(*api) {}

  // Waits for the handle of `stream`, whose context must be current. The handle enqueues on
  // `stream`. `lease`: an empty lease.
  Status Acquire(int device, void* stream, Lease* lease);

 private:
  const CudnnApi& api_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::map<std::pair<int, void*>, Place> places_;  // only its user accesses a taken place
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_HANDLE_POOL_H_
