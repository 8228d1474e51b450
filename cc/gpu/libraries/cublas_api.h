// A table of cuBLAS functions, the conversion of cuBLAS statuses to Status, and cuBLAS handles.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/libraries/cublas_min.h"
#include "cc/gpu/libraries/dso.h"

namespace rnn_ops::gpu {

// Each function has its name without "cublas". Tests fill the table with functions of their own.
struct CublasApi {
#define RNN_OPS_MEMBER(result, name, symbol, parameters) result(*name) parameters = nullptr;
  RNN_OPS_CUBLAS_FUNCTIONS(RNN_OPS_MEMBER)
#undef RNN_OPS_MEMBER

  // The environment variable TF_RNN_OPS_CUBLAS may name the file.
  static DsoRequest Request();
  Status Bind(const Dso& dso);
};

// `call`: the expression after "cublas" that returned `status`.
Status FromCublas(const CublasApi& api, cublasStatus_t status, const char* call);

// cuBLAS handles. Creating a handle takes milliseconds, and two threads must not use a handle at
// once. Each context has only a few handles, because a handle holds device memory outside the
// caller's allocator. If all handles are in use, a call waits for one.
// WHY handles are not kept per stream: each user sets the stream and the workspace of the handle.
class CublasHandles {
  struct Slot {
    std::vector<cublasHandle_t> idle;
    int taken = 0;
  };

 public:
  static constexpr int kMostPerContext = 4;

  // Exclusive use of a handle until the lease is destroyed.
  class Lease {
   public:
    Lease() = default;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    cublasHandle_t get() const { return handle_; }

   private:
    friend class CublasHandles;
    CublasHandles* owner_ = nullptr;
    Slot* slot_ = nullptr;
    cublasHandle_t handle_ = nullptr;
  };

  explicit CublasHandles(const CublasApi* api) : api_(*api) {}
  CublasHandles(const CublasHandles&) = delete;
  CublasHandles& operator=(const CublasHandles&) = delete;
  ~CublasHandles();  // destroy all leases before

  // `context`: the id of the current context, from GetContextId(). `lease`: an empty lease. Waits
  // while all handles of the context are in use.
  Status Acquire(uint64_t context, Lease* lease);

 private:
  const CublasApi& api_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::map<uint64_t, Slot> slots_;
};

}  // namespace rnn_ops::gpu

// Returns from the enclosing function unless api.call succeeds.
#define RNN_OPS_RETURN_IF_CUBLAS_ERROR(api, call)                       \
  do {                                                                  \
    const cublasStatus_t rnn_ops_cublas_ = (api).call;                  \
    if (rnn_ops_cublas_ != CUBLAS_STATUS_SUCCESS) {                     \
      return ::rnn_ops::gpu::FromCublas((api), rnn_ops_cublas_, #call); \
    }                                                                   \
  } while (false)
