// cuDNN handles, one user at a time each.
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

// Each (device, stream) has one handle, and its calls take turns. WHY one: creating a handle takes
// milliseconds, it must not be used by two threads at once, and it holds device memory that the
// caller's allocator does not have. The stream runs the calls one after the other in any case.
class HandlePool {
  struct Place {
    std::unique_ptr<CudnnHandle> handle;  // null: not created yet
    bool taken = false;
  };

 public:
  // The exclusive use of a handle, until destroyed.
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

  // A handle that enqueues on `stream`, whose context is current; waits for its turn. `lease` is a
  // new one.
  Status Acquire(int device, void* stream, Lease* lease);

 private:
  const CudnnApi& api_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::map<std::pair<int, void*>, Place> places_;  // what is in a place belongs to who took it
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_HANDLE_POOL_H_
