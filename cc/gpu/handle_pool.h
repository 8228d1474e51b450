// cuDNN handles, one user at a time each.
#ifndef TF_RNN_OPS_CC_GPU_HANDLE_POOL_H_
#define TF_RNN_OPS_CC_GPU_HANDLE_POOL_H_

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/descriptors.h"

namespace rnn_ops {
namespace gpu {

// Creating a handle takes milliseconds, and a handle must not be used by two threads at once. So
// each (device, stream) has a list of idle ones, as long as the most calls that ever overlapped.
class HandlePool {
 public:
  // The exclusive use of a handle, until destroyed.
  class Lease {
   public:
    Lease() = default;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    cudnnHandle_t get() const { return handle_->get(); }

   private:
    friend class HandlePool;
    HandlePool* pool_ = nullptr;
    std::pair<int, void*> place_;
    std::unique_ptr<CudnnHandle> handle_;
  };

  explicit HandlePool(const CudnnApi* api) : api_(*api) {}

  // A handle that enqueues on `stream`, whose context is current. `lease` is a new one.
  Status Acquire(int device, void* stream, Lease* lease);

 private:
  const CudnnApi& api_;
  std::mutex mutex_;
  std::map<std::pair<int, void*>, std::vector<std::unique_ptr<CudnnHandle>>> idle_;
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_HANDLE_POOL_H_
