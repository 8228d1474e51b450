#include "cc/gpu/handle_pool.h"

namespace rnn_ops {
namespace gpu {

HandlePool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  {
    std::lock_guard<std::mutex> lock(pool_->mutex_);
    place_->taken = false;
  }
  pool_->returned_.notify_all();
}

Status HandlePool::Acquire(int device, void* stream, Lease* lease) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    Place& place = places_[{device, stream}];
    returned_.wait(lock, [&place] { return !place.taken; });
    place.taken = true;
    lease->pool_ = this;
    lease->place_ = &place;
  }
  std::unique_ptr<CudnnHandle>& kept = lease->place_->handle;
  std::unique_ptr<CudnnHandle> handle = std::move(kept);
  if (handle == nullptr) {
    handle = std::make_unique<CudnnHandle>();
    RNN_OPS_RETURN_IF_ERROR(handle->Create(api_, "Create(&handle)"));
  }
  // The stream is set at each use, because a new stream may have the address of a destroyed stream.
  // A handle is not kept if SetStream fails.
  RNN_OPS_RETURN_IF_CUDNN_ERROR(api_, SetStream(handle->get(), static_cast<cudaStream_t>(stream)));
  kept = std::move(handle);
  return Status();
}

}  // namespace gpu
}  // namespace rnn_ops
