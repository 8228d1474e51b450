#include "cc/gpu/handle_pool.h"

namespace rnn_ops {
namespace gpu {

HandlePool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  std::lock_guard<std::mutex> lock(pool_->mutex_);
  pool_->idle_[place_].push_back(std::move(handle_));
}

Status HandlePool::Acquire(int device, void* stream, Lease* lease) {
  const std::pair<int, void*> place(device, stream);
  std::unique_ptr<CudnnHandle> handle;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& idle = idle_[place];
    if (!idle.empty()) {
      handle = std::move(idle.back());
      idle.pop_back();
    }
  }
  if (handle == nullptr) {
    handle = std::make_unique<CudnnHandle>();
    RNN_OPS_RETURN_IF_ERROR(handle->Create(api_, "Create(&handle)"));
  }
  // At each use: the address may be that of a new stream after the old one was destroyed. A handle
  // that fails here is not put back.
  RNN_OPS_RETURN_IF_CUDNN_ERROR(api_, SetStream(handle->get(), static_cast<cudaStream_t>(stream)));
  lease->pool_ = this;
  lease->place_ = place;
  lease->handle_ = std::move(handle);
  return Status();
}

}  // namespace gpu
}  // namespace rnn_ops
