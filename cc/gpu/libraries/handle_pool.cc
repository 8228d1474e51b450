#include "cc/gpu/libraries/handle_pool.h"

namespace rnn_ops::gpu {

HandlePool::Lease::~Lease() {
  if (pool_ == nullptr) return;
  {
    std::lock_guard<std::mutex> lock(pool_->mutex_);
    slot_->taken = false;
    --slot_->users;
  }
  pool_->returned_.notify_all();
}

std::unique_ptr<CudnnHandle> HandlePool::RemoveSurplus(int device) {
  int count = 0;
  auto oldest = slots_.end();
  for (auto at = slots_.begin(); at != slots_.end(); ++at) {
    if (at->first.first != device) continue;
    ++count;
    const bool idle = at->second.users == 0;
    if (idle && (oldest == slots_.end() || at->second.last_use < oldest->second.last_use)) {
      oldest = at;
    }
  }
  if (count <= kMostPerDevice || oldest == slots_.end()) return nullptr;
  std::unique_ptr<CudnnHandle> handle = std::move(oldest->second.handle);
  slots_.erase(oldest);
  return handle;
}

Status HandlePool::Acquire(int device, void* stream, Lease* lease) {
  std::unique_ptr<CudnnHandle> surplus;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    Slot& slot = slots_[{device, stream}];
    ++slot.users;
    slot.last_use = ++uses_;
    surplus = RemoveSurplus(device);
    returned_.wait(lock, [&slot] { return !slot.taken; });
    slot.taken = true;
    lease->pool_ = this;
    lease->slot_ = &slot;
  }
  surplus.reset();
  std::unique_ptr<CudnnHandle>& of_slot = lease->slot_->handle;
  std::unique_ptr<CudnnHandle> handle = std::move(of_slot);
  if (handle == nullptr) {
    handle = std::make_unique<CudnnHandle>();
    RNN_OPS_RETURN_IF_ERROR(handle->Create(api_, "Create(&handle)"));
  }
  // The stream is set at each use, because a new stream may have the address of a destroyed stream.
  // A handle is not kept if SetStream fails.
  RNN_OPS_RETURN_IF_CUDNN_ERROR(api_, SetStream(handle->get(), static_cast<cudaStream_t>(stream)));
  of_slot = std::move(handle);
  return Status();
}

}  // namespace rnn_ops::gpu
