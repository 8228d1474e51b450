// A table of cuDNN functions, and the conversion of cuDNN statuses to Status.
#pragma once

#include "cc/core/status.h"
#include "cc/gpu/libraries/cudnn_min.h"
#include "cc/gpu/libraries/dso.h"

namespace rnn_ops::gpu {

// Each function has its name without "cudnn". Tests fill the table with functions of their own.
struct CudnnApi {
#define RNN_OPS_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  RNN_OPS_CUDNN_FUNCTIONS(RNN_OPS_MEMBER)
#undef RNN_OPS_MEMBER

  // The environment variable TF_RNN_OPS_CUDNN may name the file.
  static DsoRequest Request();
  // Returns FailedPrecondition if a function is missing or the library is not cuDNN 9.
  Status Bind(const Dso& dso);
};

// `call`: the expression after "cudnn" that returned `status`.
Status FromCudnn(const CudnnApi& api, cudnnStatus_t status, const char* call);

}  // namespace rnn_ops::gpu

// Returns from the enclosing function unless api.call succeeds.
#define RNN_OPS_RETURN_IF_CUDNN_ERROR(api, call)                      \
  do {                                                                \
    const cudnnStatus_t rnn_ops_cudnn_ = (api).call;                  \
    if (rnn_ops_cudnn_ != CUDNN_STATUS_SUCCESS) {                     \
      return ::rnn_ops::gpu::FromCudnn((api), rnn_ops_cudnn_, #call); \
    }                                                                 \
  } while (false)
