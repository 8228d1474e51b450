// Owners of cuDNN's descriptors and handles, and a pool of handles.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cc/core/status.h"
#include "cc/gpu/libraries/cudnn_api.h"

namespace rnn_ops::gpu {

// Owners of cuDNN's descriptors and handles, which destroy the objects they created.

// kCreate and kDestroy are the members of CudnnApi for `Object`.
template <typename Object, cudnnStatus_t (*CudnnApi::*kCreate)(Object*),
          cudnnStatus_t (*CudnnApi::*kDestroy)(Object)>
class CudnnOwned {
 public:
  CudnnOwned() = default;
  CudnnOwned(const CudnnOwned&) = delete;
  CudnnOwned& operator=(const CudnnOwned&) = delete;
  ~CudnnOwned() {
    // Errors on destroy are ignored.
    if (api_ != nullptr) (api_->*kDestroy)(object_);
  }

  // Call at most once. `api` must outlive this object. `name` is for the error message.
  Status Create(const CudnnApi& api, const char* name) {
    const cudnnStatus_t status = (api.*kCreate)(&object_);
    if (status != CUDNN_STATUS_SUCCESS) return FromCudnn(api, status, name);
    api_ = &api;
    return Status();
  }

  Object get() const { return object_; }

 private:
  const CudnnApi* api_ = nullptr;  // null: nothing to destroy
  Object object_ = nullptr;
};

using CudnnHandle = CudnnOwned<cudnnHandle_t, &CudnnApi::Create, &CudnnApi::Destroy>;
using RnnDescriptor = CudnnOwned<cudnnRNNDescriptor_t, &CudnnApi::CreateRNNDescriptor,
                                 &CudnnApi::DestroyRNNDescriptor>;
using RnnDataDescriptor = CudnnOwned<cudnnRNNDataDescriptor_t, &CudnnApi::CreateRNNDataDescriptor,
                                     &CudnnApi::DestroyRNNDataDescriptor>;
using TensorDescriptor = CudnnOwned<cudnnTensorDescriptor_t, &CudnnApi::CreateTensorDescriptor,
                                    &CudnnApi::DestroyTensorDescriptor>;
using DropoutDescriptor = CudnnOwned<cudnnDropoutDescriptor_t, &CudnnApi::CreateDropoutDescriptor,
                                     &CudnnApi::DestroyDropoutDescriptor>;

// cuDNN handles. Only one call at a time uses a handle.

// Each (device, stream) has one handle, and calls on the stream wait for each other.
// WHY one handle: creating a handle takes milliseconds, two threads must not use a handle at once,
// and a handle holds device memory outside the caller's allocator. The stream runs its calls one
// after the other anyway.
class HandlePool {
  struct Slot {
    std::unique_ptr<CudnnHandle> handle;  // null: not created yet
    bool taken = false;
    int users = 0;         // calls that have or await the handle
    int64_t last_use = 0;  // the number of Acquire() calls so far
  };

 public:
  // More streams share no handles, but the handle of the stream that was idle for the longest time
  // is destroyed. WHY: programs may make streams all the time.
  static constexpr int kMostPerDevice = 16;

  // Exclusive use of a handle until the lease is destroyed.
  class Lease {
   public:
    Lease() = default;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    cudnnHandle_t get() const { return slot_->handle->get(); }

   private:
    friend class HandlePool;
    HandlePool* pool_ = nullptr;
    Slot* slot_ = nullptr;
  };

  explicit HandlePool(const CudnnApi* api) : api_(*api) {}

  // Waits for the handle of `stream`, whose context must be current. The handle enqueues on
  // `stream`. `lease`: an empty lease.
  Status Acquire(int device, void* stream, Lease* lease);

 private:
  // Removes a handle if `device` has too many. The caller holds the lock, and destroys the handle
  // after releasing the lock, because cuDNN then waits for the device.
  std::unique_ptr<CudnnHandle> RemoveSurplus(int device);

  const CudnnApi& api_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::map<std::pair<int, void*>, Slot> slots_;  // only its user accesses a taken slot's handle
  int64_t uses_ = 0;
};

}  // namespace rnn_ops::gpu
