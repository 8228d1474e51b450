// Owners of cuDNN's descriptors and handles, which destroy the objects they created.
#pragma once

#include "cc/core/status.h"
#include "cc/gpu/libraries/cudnn_api.h"

namespace rnn_ops::gpu {

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

}  // namespace rnn_ops::gpu
